/** LangGraph.js: `createAgent` of langchain with the SQLite checkpointer, streamed message by message. */

import { join } from "node:path";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
} from "@langchain/core/language_models/chat_models";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import type { OpenSession, Setting } from "../comparison/contender.ts";
import type { Script } from "../comparison/script.ts";

class ScriptModel extends BaseChatModel {
  readonly #script: Script;

  constructor(script: Script) {
    super({});
    this.#script = script;
  }

  override _llmType(): string {
    return "bench";
  }

  /** A real model would tell its provider of them. */
  override bindTools(): this {
    return this;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: BaseChatModelCallOptions,
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { step, texts, call } = this.#script.call(messages);
    const { pace } = this.#script;
    const id = `message_${step}`;
    for (const [index, text] of texts.entries()) {
      if (pace !== undefined) await pace(step, index);
      const chunk = new ChatGenerationChunk({
        text,
        message: new AIMessageChunk({ content: text, id }),
      });
      yield chunk;
      await run?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
    const tool_call_chunks =
      call === undefined
        ? []
        : [
            {
              name: call.name,
              args: JSON.stringify(call.input),
              id: call.id,
              index: 0,
              type: "tool_call_chunk" as const,
            },
          ];
    const message = new AIMessageChunk({ content: "", id, tool_call_chunks });
    const usage_metadata = { input_tokens: 100, output_tokens: 210, total_tokens: 310 };
    // A type of it that has no usage is chosen when it is made.
    Object.assign(message, { usage_metadata });
    yield new ChatGenerationChunk({ text: "", message });
  }

  override _generate(): Promise<ChatResult> {
    return Promise.reject(new Error("The script is streamed."));
  }
}

export function open({ dir, script }: Setting): Promise<OpenSession> {
  const lookup = tool(({ step }) => script.result(step), {
    name: "lookup",
    description: "Looks up rows.",
    schema: z.object({ step: z.number() }),
  });
  const checkpointer = SqliteSaver.fromConnString(join(dir, "checkpoints.sqlite"));
  const agent = createAgent({ model: new ScriptModel(script), tools: [lookup], checkpointer });
  const config = { configurable: { thread_id: "bench" }, recursionLimit: 1_000_000 };
  return Promise.resolve({
    async send(text) {
      const input = { messages: [{ role: "user", content: text }] };
      for await (const [chunk] of await agent.stream(input, {
        ...config,
        streamMode: "messages",
      })) {
        if (chunk.type === "ai" && typeof chunk.content === "string") script.saw(chunk.content);
      }
    },
    async kept() {
      const { values } = await agent.graph.getState(config);
      const { messages = [] } = z
        .looseObject({ messages: z.array(z.unknown()).optional() })
        .parse(values);
      return messages;
    },
    close() {
      checkpointer.db.close();
      return Promise.resolve();
    },
  });
}
