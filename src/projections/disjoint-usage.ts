/**
 * Converts a provider's usage into disjoint parts that add up, where the AI SDK's providers do not. It must
 * never lose a token that any figure includes.
 */

import type { LanguageModelUsage } from "ai";
import type { ReportedUsage, TokenUsage } from "../events/index.ts";

type Count = number | undefined;

interface Side {
  readonly total: number;
  readonly parts: readonly Count[];
  /** Whether the figures agree with each other. */
  readonly sound: boolean;
}

const nothing: Side = { total: 0, parts: [], sound: false };

/**
 * Uncached + cache read + cache write = input, text + reasoning = output. A missing part is absent, unless it
 * follows from the others. `basis` is `estimated` if figures contradict each other or one side is missing.
 * @returns undefined if the provider reported no figure at all.
 */
export function disjointUsage(usage: LanguageModelUsage): TokenUsage | undefined {
  const { inputTokenDetails: given, outputTokenDetails: details } = usage;
  const cached = [given.cacheReadTokens, given.cacheWriteTokens].map(counted);
  const uncached = counted(given.noCacheTokens);
  const input = inputSide(counted(usage.inputTokens), uncached, cached);
  const output = outputSide(
    counted(usage.outputTokens),
    counted(details.textTokens),
    counted(details.reasoningTokens),
    input === undefined ? undefined : outputByTotal(usage.raw, input.total),
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
  const isSound = input?.sound === true && output?.sound === true;
  return {
    basis: isSound ? "measured" : "estimated",
    inputTokens: input?.total ?? 0,
    outputTokens: output?.total ?? 0,
    ...Object.fromEntries(Object.entries(parts).filter(([, tokens]) => tokens !== undefined)),
    ...(isSound ? {} : { reported: reportedUsage(usage) }),
  };
}

/** The figures that are numbers, as they came. */
export function reportedUsage(usage: LanguageModelUsage): ReportedUsage {
  const { inputTokens, outputTokens, inputTokenDetails, outputTokenDetails } = usage;
  const figures = { inputTokens, ...inputTokenDetails, outputTokens, ...outputTokenDetails };
  return Object.fromEntries(
    Object.entries(figures).filter(([, tokens]) => Number.isFinite(tokens)),
  );
}

function counted(tokens: Count): Count {
  // At run time a figure may be NaN or no number at all.
  const isCount = Number.isFinite(tokens) && Number(tokens) <= Number.MAX_SAFE_INTEGER;
  return tokens === undefined || !isCount ? undefined : Math.max(0, tokens);
}

function sum(counts: readonly Count[]): number {
  return counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

function isKnown(count: Count): count is number {
  return count !== undefined;
}

function inputSide(total: Count, uncached: Count, cached: readonly Count[]): Side | undefined {
  const fromCache = sum(cached);
  if (total === undefined) {
    if (uncached === undefined && !cached.some(isKnown)) return undefined;
    const all = sum([uncached, ...cached]);
    return { total: all, parts: [uncached ?? 0, ...zeroes(cached)], sound: isKnown(uncached) };
  }
  if (uncached === undefined && !cached.some(isKnown)) return { total, parts: [], sound: true };
  const rest = total - fromCache;
  if (uncached === undefined || uncached === rest) {
    // If the cache has more than the total, the total counts only uncached tokens.
    return rest >= 0
      ? { total, parts: [rest, ...zeroes(cached)], sound: true }
      : { total: total + fromCache, parts: [total, ...zeroes(cached)], sound: false };
  }
  // The parts overlap or leave a gap: the larger sum is kept as an estimate.
  const all = Math.max(total, uncached + fromCache);
  return { total: all, parts: [all - fromCache, ...zeroes(cached)], sound: false };
}

function zeroes(counts: readonly Count[]): readonly number[] {
  return counts.map((count) => count ?? 0);
}

function outputSide(
  total: Count,
  text: Count,
  reasoning: Count,
  outputTotal: Count,
): Side | undefined {
  if (total === undefined) {
    if (text === undefined && reasoning === undefined) return undefined;
    const all = sum([text, reasoning]);
    return { total: all, parts: [text ?? 0, reasoning ?? 0], sound: isKnown(text) };
  }
  if (text === undefined && reasoning === undefined) return { total, parts: [], sound: true };
  const reasoningTokens = reasoning ?? Math.max(0, total - (text ?? 0));
  if (isKnown(outputTotal) && reasoningTokens > 0 && outputTotal === total + reasoningTokens) {
    // xAI's completion tokens leave out the reasoning; its own total counts it.
    return { total: outputTotal, parts: [total, reasoningTokens], sound: true };
  }
  if (reasoningTokens > total)
    return { total: total + reasoningTokens, parts: [total, reasoningTokens], sound: false };
  const sound = text === undefined || text + reasoningTokens === total;
  return { total, parts: [total - reasoningTokens, reasoningTokens], sound };
}

/** Output tokens by the `total_tokens` of OpenAI and compatible providers. */
function outputByTotal(raw: LanguageModelUsage["raw"], inputTokens: number): Count {
  const all = raw?.["total_tokens"];
  return typeof all === "number" && all >= inputTokens ? all - inputTokens : undefined;
}
