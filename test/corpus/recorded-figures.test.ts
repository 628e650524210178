/** The figures of every recorded stream, of every provider family, settle into parts that add up. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { disjointUsage } from "../../src/projections/index.ts";
import { corpusAbsent, corpusFolder, corpusPresent } from "./wire-manifest.ts";

const tokens = z.number().optional();
const row = z.looseObject({
  family: z.string(),
  file: z.string(),
  usage: z
    .object({
      inputTokens: tokens,
      inputTokenDetails: z
        .object({ noCacheTokens: tokens, cacheReadTokens: tokens, cacheWriteTokens: tokens })
        .default({}),
      outputTokens: tokens,
      outputTokenDetails: z.object({ textTokens: tokens, reasoningTokens: tokens }).default({}),
      totalTokens: tokens,
    })
    .nullish(),
});

/** Streams of xAI by way of the compatible client: reasoning beside the output, and no total of their own. */
const contradictory = [
  "packages/openai-compatible/src/chat/__fixtures__/xai-text.chunks.txt",
  "packages/openai-compatible/src/chat/__fixtures__/xai-tool-call.chunks.txt",
  "packages/xai/src/__fixtures__/xai-text.chunks.txt",
  "packages/xai/src/__fixtures__/xai-tool-call.chunks.txt",
];

describe("recorded figures", () => {
  it("add up in every family, and only those that contradict themselves are called estimated", ({
    skip,
  }) => {
    skip(!corpusPresent, corpusAbsent);
    const rows = readFileSync(resolve(corpusFolder, "wire/MANIFEST.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => row.parse(JSON.parse(line)));
    const settled = rows.flatMap(({ file, family, usage: said }) => {
      const usage =
        said === null || said === undefined
          ? undefined
          : disjointUsage({
              ...said,
              inputTokens: said.inputTokens,
              inputTokenDetails: {
                noCacheTokens: said.inputTokenDetails.noCacheTokens,
                cacheReadTokens: said.inputTokenDetails.cacheReadTokens,
                cacheWriteTokens: said.inputTokenDetails.cacheWriteTokens,
              },
              outputTokens: said.outputTokens,
              outputTokenDetails: {
                textTokens: said.outputTokenDetails.textTokens,
                reasoningTokens: said.outputTokenDetails.reasoningTokens,
              },
              totalTokens: said.totalTokens,
            });
      return usage === undefined ? [] : [{ file, family, usage }];
    });
    expect(settled.length).toBeGreaterThan(100);
    expect(new Set(settled.map(({ family }) => family)).size).toBeGreaterThan(10);
    const wrong = settled.filter(({ usage }) => {
      const { uncachedInputTokens: fresh, cacheReadTokens, cacheWriteTokens } = usage;
      const { textTokens, reasoningTokens } = usage;
      return (
        (fresh !== undefined &&
          fresh + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) !== usage.inputTokens) ||
        (textTokens !== undefined && textTokens + (reasoningTokens ?? 0) !== usage.outputTokens)
      );
    });
    expect(wrong).toEqual([]);
    const estimated = settled.filter(({ usage }) => usage.basis === "estimated");
    expect(estimated.map(({ file }) => file).toSorted()).toEqual(contradictory);
  });
});
