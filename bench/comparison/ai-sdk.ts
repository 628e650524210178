/**
 * The AI SDK by itself: `loop` and `agent` keep nothing, `json` is what its documentation shows for
 * keeping a conversation: all messages written as one file, here after each step.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  isLoopFinished,
  isStepCount,
  streamText,
  tool,
  ToolLoopAgent,
  type ModelMessage,
  type ToolSet,
} from "ai";
import { z } from "zod";
import type { OpenSession, Setting } from "./contender.ts";
import type { Script } from "./script.ts";
import { scriptModel } from "./script-model.ts";

export function open({ dir, script, variant }: Setting): Promise<OpenSession> {
  const file = join(dir, "session.json");
  const keeps = variant === "json";
  const ask = variant === "loop" ? askInALoop : askAgent;
  const write = async (messages: readonly ModelMessage[]): Promise<void> => {
    if (keeps) await writeFile(file, JSON.stringify(messages));
  };
  return Promise.resolve({
    async send(text) {
      const messages = [
        ...(keeps ? await read(file) : []),
        { role: "user" as const, content: text },
      ];
      await write(messages);
      await ask(script, messages, write);
    },
    kept: async () => (keeps ? await read(file) : []),
    close: () => Promise.resolve(),
  });
}

/** The AI SDK looks at each of them itself when it is given them. */
const messagesSchema = z.custom<ModelMessage[]>(Array.isArray);

async function read(file: string): Promise<ModelMessage[]> {
  const text = await readFile(file, "utf8").catch(() => "[]");
  return messagesSchema.parse(JSON.parse(text));
}

function toolsOf(script: Script): ToolSet {
  return {
    lookup: tool({
      description: "Looks up rows.",
      inputSchema: z.object({ step: z.number() }),
      execute: ({ step }) => script.result(step),
    }),
  };
}

async function askInALoop(script: Script, messages: ModelMessage[]): Promise<void> {
  const [model, tools] = [scriptModel(script), toolsOf(script)];
  for (;;) {
    const result = streamText({ model, tools, messages, stopWhen: isStepCount(1) });
    for await (const part of result.stream) follow(script, part);
    messages.push(...(await result.responseMessages));
    if ((await result.finishReason) !== "tool-calls") return;
  }
}

async function askAgent(
  script: Script,
  messages: ModelMessage[],
  write: (messages: readonly ModelMessage[]) => Promise<void>,
): Promise<void> {
  const agent = new ToolLoopAgent({
    model: scriptModel(script),
    tools: toolsOf(script),
    stopWhen: isLoopFinished(),
    onStepEnd: async ({ response }) => {
      messages.push(...response.messages);
      await write(messages);
    },
  });
  const result = await agent.stream({ messages: [...messages] });
  for await (const part of result.stream) follow(script, part);
}

function follow(
  script: Script,
  part: { readonly type: string; readonly text?: string; readonly error?: unknown },
): void {
  if (part.type === "text-delta") script.saw(part.text ?? "");
  else if (part.type === "error") throw part.error;
}
