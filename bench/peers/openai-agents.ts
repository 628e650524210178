/**
 * The OpenAI Agents SDK. `memory` is the only session that it ships and that needs no server; `file`
 * is the one that a user writes by its `Session` interface: a line of JSON for each item.
 */

import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  Agent,
  MemorySession,
  Runner,
  setTracingDisabled,
  tool,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type Session,
  type StreamEvent,
} from "@openai/agents";
import { z } from "zod";
import type { OpenSession, Setting } from "../comparison/contender.ts";
import type { Script } from "../comparison/script.ts";

// Traces would go to its maker.
setTracingDisabled(true);

class FileSession implements Session {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  getSessionId(): Promise<string> {
    return Promise.resolve("bench");
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const text = await readFile(this.#file, "utf8").catch(() => "");
    const lines = text.split("\n").filter((line) => line !== "");
    const items = lines.map((line) => JSON.parse(line) as AgentInputItem);
    return limit === undefined ? items : items.slice(-limit);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    await appendFile(this.#file, items.map((item) => `${JSON.stringify(item)}\n`).join(""));
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const items = await this.getItems();
    const last = items.pop();
    await writeFile(this.#file, items.map((item) => `${JSON.stringify(item)}\n`).join(""));
    return last;
  }

  async clearSession(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}

class ScriptModel implements Model {
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  getResponse(): Promise<ModelResponse> {
    return Promise.reject(new Error("The script is streamed."));
  }

  async *getStreamedResponse({ input }: ModelRequest): AsyncGenerator<StreamEvent> {
    const { step, texts, call } = this.#script.call(input);
    const { pace } = this.#script;
    yield { type: "response_started" };
    for (const [index, delta] of texts.entries()) {
      if (pace !== undefined) await pace(step, index);
      yield { type: "output_text_delta", delta };
    }
    yield {
      type: "response_done",
      response: {
        id: `response_${step}`,
        usage: { requests: 1, inputTokens: 100, outputTokens: 210, totalTokens: 310 },
        output: [
          {
            type: "message",
            role: "assistant",
            id: `message_${step}`,
            status: "completed",
            content: [{ type: "output_text", text: texts.join("") }],
          },
          ...(call === undefined
            ? []
            : [
                {
                  type: "function_call" as const,
                  id: `item_${step}`,
                  callId: call.id,
                  name: call.name,
                  status: "completed" as const,
                  arguments: JSON.stringify(call.input),
                },
              ]),
        ],
      },
    };
  }
}

export function open({ dir, script, variant }: Setting): Promise<OpenSession> {
  const lookup = tool({
    name: "lookup",
    description: "Looks up rows.",
    parameters: z.object({ step: z.number() }),
    execute: ({ step }) => script.result(step),
  });
  const model = new ScriptModel(script);
  const agent = new Agent({
    name: "bench",
    instructions: "You look rows up.",
    model,
    tools: [lookup],
  });
  const runner = new Runner({ tracingDisabled: true });
  const session =
    variant === "memory"
      ? new MemorySession({ sessionId: "bench" })
      : new FileSession(join(dir, "session.jsonl"));
  return Promise.resolve({
    async send(text) {
      const result = await runner.run(agent, text, { stream: true, maxTurns: 1_000_000, session });
      for await (const event of result) {
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") {
          script.saw(event.data.delta);
        }
      }
      await result.completed;
    },
    kept: () => session.getItems(),
    close: () => Promise.resolve(),
  });
}
