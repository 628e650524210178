/** The agent of a crowd: what it says follows from the prompt alone, and it remembers nothing of its calls. */

import { setImmediate as nextTurn } from "node:timers/promises";
import type {
  LanguageModelV4,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { tool, type ToolSet } from "ai";
import { z } from "zod";

const DELTAS = 10;
/** Rounds of tools in a turn. */
const ROUNDS = 4;
const tools = ["quick", "slow", "wrong", "deaf"] as const;

export function crowdModel(): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "turnlog",
    modelId: "crowd",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The crowd is streamed.")),
    doStream: ({ prompt }) => Promise.resolve({ stream: streamOf(partsFor(prompt)) }),
  };
}

/** One part each time that one is asked for, each in a turn of the event loop of its own, as from a network. */
function streamOf(
  parts: readonly LanguageModelV4StreamPart[],
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  return new ReadableStream({
    pull: async (controller) => {
      await nextTurn();
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

function partsFor(prompt: LanguageModelV4Prompt): readonly LanguageModelV4StreamPart[] {
  const asked = prompt.findLastIndex(({ role }) => role === "user");
  const rounds = prompt.slice(asked).filter(({ role }) => role === "tool").length;
  const calls = rounds < ROUNDS ? 1 + (prompt.length % 3) : 0;
  const reason = calls > 0 ? ("tool-calls" as const) : ("stop" as const);
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    ...Array.from({ length: DELTAS }, (_, index) => ({
      type: "text-delta" as const,
      id: "0",
      delta: `word ${prompt.length + index} `,
    })),
    { type: "text-end", id: "0" },
    ...Array.from({ length: calls }, (_, index) => ({
      type: "tool-call" as const,
      toolCallId: `call-${index}`,
      toolName: tools[(prompt.length + index) % tools.length] ?? "quick",
      input: JSON.stringify({ number: prompt.length }),
    })),
    {
      type: "finish",
      finishReason: { unified: reason, raw: reason },
      usage: {
        inputTokens: { total: prompt.length, noCache: prompt.length, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: DELTAS, text: DELTAS, reasoning: 0 },
      },
    },
  ];
}

const inputSchema = z.object({ number: z.number() });
type Input = z.infer<typeof inputSchema>;

/** One is done at once, one takes a while, one throws, one does not hear that it is to stop. */
export function crowdTools(): ToolSet {
  return {
    quick: tool({ inputSchema, execute: ({ number }: Input) => number * 2 }),
    slow: tool({
      inputSchema,
      execute: async ({ number }: Input, { abortSignal }) => {
        for (let turn = 0; turn < 5; turn++) {
          await nextTurn();
          abortSignal?.throwIfAborted();
        }
        return `slow ${number}`;
      },
    }),
    wrong: tool({
      inputSchema,
      execute: ({ number }: Input): Promise<string> =>
        Promise.reject(new Error(`${number} is wrong.`)),
    }),
    deaf: tool({
      inputSchema,
      execute: async ({ number }: Input) => {
        for (let turn = 0; turn < 20; turn++) await nextTurn();
        return { number };
      },
    }),
  };
}
