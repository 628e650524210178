/** A model in the process that streams a reply at a steady pace. Each delta says when it was due and when it was made. */

import { setTimeout as wait } from "node:timers/promises";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";

export interface Pace {
  readonly deltas: number;
  readonly everyMs: number;
  /** Characters of a delta. */
  readonly size: number;
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

function wordAt(due: number): string {
  return `${due} ${Date.now()} word `;
}

export function pacedModel({ deltas, everyMs, size }: Pace): LanguageModelV4 {
  const rest = "x".repeat(Math.max(0, size - wordAt(Date.now()).length));
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart, void, void> {
    yield { type: "stream-start", warnings: [] };
    yield { type: "text-start", id: "t" };
    const startedAt = Date.now();
    for (let index = 0; index < deltas; index++) {
      const due = startedAt + (index + 1) * everyMs;
      await wait(Math.max(0, due - Date.now()));
      yield { type: "text-delta", id: "t", delta: `${wordAt(due)}${rest}` };
    }
    yield { type: "text-end", id: "t" };
    yield { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } };
  }
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "paced",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The bench streams.")),
    doStream: async () => ({ stream: ReadableStream.from(parts()) }),
  };
}
