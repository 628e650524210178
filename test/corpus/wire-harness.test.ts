import type { TextStreamPart, ToolSet } from "ai";
import { expect, it } from "vitest";
import { sampled } from "../support/runs.ts";
import { comparableParts } from "./comparable-parts.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { expectedParts } from "./expected-parts.ts";
import { partSequence } from "./part-sequence.ts";
import { wireRows, type WireRow } from "./wire-manifest.ts";

describeWithCorpus("recorded provider streams", () => {
  // In a long run all.
  for (const row of sampled(wireRows(), 10)) {
    it(`${row.family}: ${row.file} comes out as the manifest says, wherever it is cut`, async () => {
      const { parts, responseMessages } = await expectedParts(row, { seed: 1 });
      const finish = parts.find((part) => part.type === "finish");
      expect({
        sequence: partSequence(parts),
        finish: finish?.finishReason ?? null,
        usage: finish === undefined ? {} : billed(finish.totalUsage),
      }).toEqual({
        sequence: row.sequence,
        finish: row.finish,
        usage: expectedUsage(row),
      });
      expect(errorBeginnings(parts, row.errors)).toEqual(row.errors);
      expect(responseMessages.length > 0).toBe(parts.some(({ type }) => !outerTypes.has(type)));

      const elsewhere = await expectedParts(row, { seed: 2 });
      expect(comparableParts(elsewhere.parts)).toEqual(comparableParts(parts));
    });
  }
});

/** Parts that say nothing of what the model said. */
const outerTypes: ReadonlySet<string> = new Set([
  "start",
  "start-step",
  "error",
  "finish-step",
  "finish",
]);

/** The manifest's figures. Since it was made, the client of xAI's chat has come to count reasoning as output. */
function expectedUsage({ family, url, usage }: WireRow): WireRow["usage"] {
  if (family !== "xai" || !url.includes("/chat/")) return usage;
  const { outputTokens = 0, outputTokenDetails = {}, totalTokens = 0 } = usage;
  const { reasoningTokens = 0 } = outputTokenDetails;
  return {
    ...usage,
    outputTokens: outputTokens + reasoningTokens,
    outputTokenDetails: { ...outputTokenDetails, textTokens: outputTokens },
    totalTokens: totalTokens + reasoningTokens,
  };
}

/** The SDK's figures as the manifest writes them: those that the provider gave, without its raw ones. */
function billed({ raw: _, ...usage }: { readonly raw?: unknown }): WireRow["usage"] {
  return JSON.parse(JSON.stringify(usage)) as WireRow["usage"];
}

/** Texts of error parts and invalid calls, cut to the length that the manifest keeps of each. */
function errorBeginnings(
  parts: readonly TextStreamPart<ToolSet>[],
  kept: readonly string[],
): readonly string[] {
  return parts
    .flatMap((part) => {
      if (part.type === "error") return [messageOf(part.error)];
      if (part.type === "tool-call" && part.invalid)
        return [`invalid tool-call ${messageOf(part.error)}`];
      return [];
    })
    .map((text, index) => text.slice(0, kept[index]?.length));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
