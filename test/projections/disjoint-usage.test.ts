/** Law 7, where the figures come in: whatever a provider says, the parts add up to the totals. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LanguageModelUsage } from "ai";
import type { TokenUsage } from "../../src/events/index.ts";
import { disjointUsage } from "../../src/projections/disjoint-usage.ts";
import { runs } from "../support/runs.ts";

type Counts = readonly (number | undefined)[];

/** Figures in the order of the wire: input, uncached, read, write; output, text, reasoning. */
function told(input: Counts, output: Counts, raw?: LanguageModelUsage["raw"]): LanguageModelUsage {
  const [inputTokens, noCacheTokens, cacheReadTokens, cacheWriteTokens] = input;
  const [outputTokens, textTokens, reasoningTokens] = output;
  return {
    inputTokens,
    inputTokenDetails: { noCacheTokens, cacheReadTokens, cacheWriteTokens },
    outputTokens,
    outputTokenDetails: { textTokens, reasoningTokens },
    totalTokens: undefined,
    ...(raw === undefined ? {} : { raw }),
  };
}

function overlap(usage: TokenUsage): string | undefined {
  const { uncachedInputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const input = [uncachedInputTokens, cacheReadTokens, cacheWriteTokens];
  const output = [usage.textTokens, usage.reasoningTokens];
  for (const [total, parts] of [
    [usage.inputTokens, input] as const,
    [usage.outputTokens, output] as const,
  ]) {
    const known = parts.filter((part) => part !== undefined);
    if (known.length > 0 && known.length < parts.length)
      return "Some parts are told and others not.";
    if (known.some((part) => part < 0)) return "A part is less than nothing.";
    if (known.length > 0 && known.reduce((sum, part) => sum + part, 0) !== total) {
      return `${known.join(" + ")} is not ${total}.`;
    }
  }
  return undefined;
}

const count = fc.option(fc.integer({ min: -5, max: 50 }), { nil: undefined });
const anyUsage = fc
  .tuple(fc.tuple(count, count, count, count), fc.tuple(count, count, count), count)
  .map(([input, output, all]) =>
    told(input, output, all === undefined ? undefined : { total_tokens: all }),
  );

describe("the figures of a call", () => {
  it("add up, whatever the provider says, and no token that it tells of is lost", () => {
    fc.assert(
      fc.property(anyUsage, (usage) => {
        const settled = disjointUsage(usage);
        if (settled === undefined) return;
        expect(overlap(settled)).toBeUndefined();
        expect(settled.inputTokens).toBeGreaterThanOrEqual(usage.inputTokens ?? 0);
        expect(settled.outputTokens).toBeGreaterThanOrEqual(usage.outputTokens ?? 0);
        expect(settled.cacheReadTokens ?? 0).toBe(
          Math.max(0, usage.inputTokenDetails.cacheReadTokens ?? 0),
        );
        expect(settled.reasoningTokens ?? 0).toBeGreaterThanOrEqual(
          usage.outputTokenDetails.reasoningTokens ?? 0,
        );
      }),
      runs(2000),
    );
  });

  it.each<[string, LanguageModelUsage, object]>([
    [
      "Anthropic counts what was read from the cache and written to it apart",
      told([1687, 3, 0, 1684], [191, undefined, undefined]),
      { basis: "measured", uncachedInputTokens: 3, cacheWriteTokens: 1684, outputTokens: 191 },
    ],
    [
      "OpenAI counts the cached part within the input, and reasoning within the output",
      told([6047, 3103, 2944, undefined], [1623, 215, 1408]),
      { basis: "measured", cacheReadTokens: 2944, cacheWriteTokens: 0, textTokens: 215 },
    ],
    [
      "Groq tells of no cache",
      told([17, 17, undefined, undefined], [1107, 144, 963]),
      { basis: "measured", uncachedInputTokens: 17, cacheReadTokens: 0, reasoningTokens: 963 },
    ],
    [
      "xAI leaves reasoning out of its completion tokens and counts it in its total",
      told([12, 1, 11, undefined], [1, 0, 290], { total_tokens: 303 }),
      { basis: "measured", outputTokens: 291, textTokens: 1, reasoningTokens: 290 },
    ],
    [
      "a gateway drops the total that distinguishes xAI's figures",
      told([12, 1, 11, undefined], [1, 0, 290]),
      { basis: "estimated", outputTokens: 291, textTokens: 1, reasoningTokens: 290 },
    ],
    [
      "a stream breaks before the input is reported",
      told([undefined, undefined, undefined, undefined], [5, undefined, undefined]),
      { basis: "estimated", inputTokens: 0, outputTokens: 5 },
    ],
    [
      "more is said to come from the cache than there was input",
      told([10, undefined, 40, undefined], [5, 5, 0]),
      { basis: "estimated", inputTokens: 50, uncachedInputTokens: 10, cacheReadTokens: 40 },
    ],
    [
      "what came from the cache is counted a second time beside it",
      told([100, 90, 40, undefined], [5, 5, 0]),
      { basis: "estimated", inputTokens: 130, uncachedInputTokens: 90, cacheReadTokens: 40 },
    ],
    [
      "the parts of the input leave a gap",
      told([100, 10, 40, undefined], [5, 5, 0]),
      { basis: "estimated", inputTokens: 100, uncachedInputTokens: 60, cacheReadTokens: 40 },
    ],
    [
      "there is more text than output, which leaves nothing for reasoning",
      told([3, 3, 0, 0], [5, 10, undefined]),
      { basis: "estimated", outputTokens: 5, textTokens: 5, reasoningTokens: 0 },
    ],
  ])("are settled when %s", (_, usage, expected) => {
    expect(disjointUsage(usage)).toMatchObject(expected);
  });

  it("are absent when the provider tells none", () => {
    expect(disjointUsage(told([], []))).toBeUndefined();
  });
});
