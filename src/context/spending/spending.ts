/** The spending of sessions by day, and its limits. Pure. */

import type { EventBody, ModelName } from "../../events/index.ts";
import { ownBeside, ownSteps, type UsageState } from "../../projections/index.ts";
import { callCost, type KnownLimits } from "../models/model-limits.ts";

/** The most that may be spent. */
export interface Budget {
  /** Tokens of prompts and replies, summaries and retries included. */
  readonly tokens?: number;
  /** US dollars. A model without a known price cannot be called under this limit. */
  readonly dollars?: number;
  /** Starts counting again each UTC day or month. Default: counts everything that was ever spent. */
  readonly per?: "day" | "month";
  /** The turn waits until a person allows more, instead of ending. Default: false. */
  readonly hold?: boolean;
}

export interface Amount {
  readonly tokens: number;
  readonly dollars: number;
}

/** A call with what it cost; a price that is not known counts as 0. */
export interface PricedCall extends Amount {
  readonly time: number;
}

export const nothing: Amount = { tokens: 0, dollars: 0 };

/** What a session itself has spent since an earlier usage, with the prices at the time of each call. */
export function callsSince(
  before: UsageState | undefined,
  usage: UsageState,
  known: KnownLimits,
): readonly PricedCall[] {
  const calls =
    before === undefined
      ? [...ownSteps(usage), ...ownBeside(usage)]
      : [...usage.steps.slice(before.steps.length), ...usage.beside.slice(before.beside.length)];
  return calls.map(({ model, time, usage: used }) => ({
    time,
    tokens: used.inputTokens + used.outputTokens,
    dollars: (model && callCost(model, used, time, known)) ?? 0,
  }));
}

/** What the days of the period of a time begin with: nothing for all time. */
export function periodOf(per: Budget["per"], time: number): string {
  return per === undefined ? "" : dayOf(time).slice(0, per === "day" ? 10 : 7);
}

export function add(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, dollars: one.dollars + other.dollars };
}

/** The UTC day of a time, as `2026-01-31`. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/**
 * The next call as far as it is known: its model, and the tokens of its prompt if they are already estimated.
 */
export interface NextCall {
  readonly model: ModelName;
  readonly promptTokens: number | undefined;
  readonly time: number;
}

/** The lowest amount that the next call costs: its prompt without a cache. Undefined dollars: no price is known. */
export function leastCost(
  { model, promptTokens = 0, time }: NextCall,
  known: KnownLimits,
): { readonly tokens: number; readonly dollars: number | undefined } {
  const usage = { basis: "estimated", inputTokens: promptTokens, outputTokens: 0 } as const;
  return { tokens: promptTokens, dollars: callCost(model, usage, time, known) };
}

type Reached = NonNullable<EventBody<"turn.limit-reached">["data"]["budget"]>;

/**
 * The limit that a call would exceed; undefined if it may be made. `of`: `turn`, `session`, or a key of the metadata.
 * `allowed`: what people allowed on top of it.
 */
export function passedLimit(
  of: string,
  budget: Budget,
  spent: Amount,
  next: ReturnType<typeof leastCost>,
  allowed = nothing,
): Reached | undefined {
  for (const unit of ["tokens", "dollars"] as const) {
    const own = budget[unit];
    if (own === undefined) continue;
    const limit = own + allowed[unit];
    const reached = { of, unit, limit, spent: spent[unit] };
    const cost = next[unit];
    if (cost === undefined) return { ...reached, unpriced: true };
    if (spent[unit] >= limit || spent[unit] + cost > limit) return reached;
  }
  return undefined;
}
