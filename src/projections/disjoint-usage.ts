/**
 * What a provider says that a call has cost, as parts that do not overlap and add up. The AI SDK's
 * providers normalise most ways of counting; this settles what they leave open. Called when a
 * step's figures are recorded; must never lose a token that some figure tells of.
 */

import type { LanguageModelUsage } from "ai";
import type { TokenUsage } from "../events/index.ts";

type Count = number | undefined;

interface Side {
  readonly total: number;
  readonly parts: readonly Count[];
  /** Whether the figures agreed with each other, so that nothing was guessed. */
  readonly sound: boolean;
}

const nothing: Side = { total: 0, parts: [], sound: false };

/**
 * Tokens of one call: uncached + cache read + cache write = input, text + reasoning = output. A part
 * that nobody told is absent, unless it is what the others leave over. `basis` is `estimated` where
 * the provider's figures contradict each other or one side is missing.
 * @returns undefined when the provider told no figure at all.
 */
export function disjointUsage(usage: LanguageModelUsage): TokenUsage | undefined {
  const { inputTokenDetails: given, outputTokenDetails: said } = usage;
  const cached = [given.cacheReadTokens, given.cacheWriteTokens].map(counted);
  const uncached = counted(given.noCacheTokens);
  const input = inputSide(counted(usage.inputTokens), uncached, cached);
  const output = outputSide(
    counted(usage.outputTokens),
    counted(said.textTokens),
    counted(said.reasoningTokens),
    input === undefined ? undefined : sumToldBy(usage.raw, input.total),
  );
  if (input === undefined && output === undefined) return undefined;
  const [uncachedInputTokens, cacheReadTokens, cacheWriteTokens] = (input ?? nothing).parts;
  const [textTokens, reasoningTokens] = (output ?? nothing).parts;
  const parts = {
    uncachedInputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    textTokens,
    reasoningTokens,
  };
  return {
    basis: input?.sound === true && output?.sound === true ? "measured" : "estimated",
    inputTokens: input?.total ?? 0,
    outputTokens: output?.total ?? 0,
    ...Object.fromEntries(Object.entries(parts).filter(([, tokens]) => tokens !== undefined)),
  };
}

function counted(tokens: Count): Count {
  // What is no number at all is in nobody's types, and is no figure either.
  const isCount = Number.isFinite(tokens) && Number(tokens) <= Number.MAX_SAFE_INTEGER;
  return tokens === undefined || !isCount ? undefined : Math.max(0, tokens);
}

function sum(counts: readonly Count[]): number {
  return counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

function isTold(count: Count): count is number {
  return count !== undefined;
}

function inputSide(total: Count, uncached: Count, cached: readonly Count[]): Side | undefined {
  const fromCache = sum(cached);
  if (total === undefined) {
    if (uncached === undefined && !cached.some(isTold)) return undefined;
    const all = sum([uncached, ...cached]);
    return { total: all, parts: [uncached ?? 0, ...zeroes(cached)], sound: isTold(uncached) };
  }
  if (uncached === undefined && !cached.some(isTold)) return { total, parts: [], sound: true };
  const rest = total - fromCache;
  if (uncached === undefined || uncached === rest) {
    // With more from the cache than in all, the total counts only what was not cached.
    return rest >= 0
      ? { total, parts: [rest, ...zeroes(cached)], sound: true }
      : { total: total + fromCache, parts: [total, ...zeroes(cached)], sound: false };
  }
  // They overlap or leave a gap: the larger reading is kept, and said to be a guess.
  const all = Math.max(total, uncached + fromCache);
  return { total: all, parts: [all - fromCache, ...zeroes(cached)], sound: false };
}

/** With the whole accounted for, what was not told is nothing. */
function zeroes(counts: readonly Count[]): readonly number[] {
  return counts.map((count) => count ?? 0);
}

function outputSide(
  total: Count,
  text: Count,
  reasoning: Count,
  toldInAll: Count,
): Side | undefined {
  if (total === undefined) {
    if (text === undefined && reasoning === undefined) return undefined;
    const all = sum([text, reasoning]);
    return { total: all, parts: [text ?? 0, reasoning ?? 0], sound: isTold(text) };
  }
  if (text === undefined && reasoning === undefined) return { total, parts: [], sound: true };
  const thought = reasoning ?? Math.max(0, total - (text ?? 0));
  if (isTold(toldInAll) && thought > 0 && toldInAll === total + thought) {
    // xAI's completion tokens leave out the reasoning; its own total counts it.
    return { total: toldInAll, parts: [total, thought], sound: true };
  }
  if (thought > total) return { total: total + thought, parts: [total, thought], sound: false };
  const sound = text === undefined || text + thought === total;
  return { total, parts: [total - thought, thought], sound };
}

/** The output that the provider's own total leaves, in the words that OpenAI and its likes use. */
function sumToldBy(raw: LanguageModelUsage["raw"], inputTokens: number): Count {
  const all = raw?.["total_tokens"];
  return typeof all === "number" && all >= inputTokens ? all - inputTokens : undefined;
}
