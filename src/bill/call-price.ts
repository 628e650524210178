/** The dollars of one call by kind of token. They sum to its cost, in whatever price tier it is. Pure. */

import { uncheckedCallCost, type KnownLimits } from "../context/index.ts";
import type { ModelName, TokenUsage } from "../events/index.ts";

/** US dollars of one call by kind of token. */
export interface CallDollars {
  readonly total: number;
  readonly read: number;
  readonly written: number;
  readonly plain: number;
  readonly output: number;
}

export interface CallPrice {
  readonly dollars: CallDollars;
  /** US dollars of one token of input, at the size of this call. */
  readonly rates: { readonly read: number; readonly written: number; readonly plain: number };
}

/** The tokens of a prompt by how they are billed. */
export interface InputTokens {
  readonly read: number;
  readonly written: number;
  readonly plain: number;
}

export function inputOf(usage: TokenUsage): InputTokens {
  const { inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const read = Math.min(cacheReadTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - read);
  return { read, written, plain: inputTokens - read - written };
}

/** Undefined if no price is known. */
export function callPrice(
  usage: TokenUsage,
  model: ModelName | undefined,
  time: number,
  known: KnownLimits,
): CallPrice | undefined {
  if (model === undefined) return undefined;
  const { basis, inputTokens } = usage;
  const cost = (more: Partial<TokenUsage>): number =>
    uncheckedCallCost(model, { basis, inputTokens, outputTokens: 0, ...more }, time, known) ?? 0;
  const total = uncheckedCallCost(model, usage, time, known);
  if (total === undefined) return undefined;
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const input = cost({ cacheReadTokens, cacheWriteTokens });
  const tokens = inputOf(usage);
  const each = (whole: number): number => (inputTokens === 0 ? 0 : whole / inputTokens);
  const average = {
    read: each(cost({ cacheReadTokens: inputTokens })),
    written: each(cost({ cacheWriteTokens: inputTokens })),
    plain: each(cost({})),
  };
  const sum =
    tokens.read * average.read + tokens.written * average.written + tokens.plain * average.plain;
  const scale = sum === 0 ? 0 : input / sum;
  const rates = {
    read: average.read * scale,
    written: average.written * scale,
    plain: average.plain * scale,
  };
  return {
    rates,
    dollars: {
      total,
      read: tokens.read * rates.read,
      written: tokens.written * rates.written,
      plain: tokens.plain * rates.plain,
      output: total - input,
    },
  };
}
