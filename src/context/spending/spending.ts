/** The spending of sessions by day, and its limits. Pure. */

import { z } from "zod";
import type { EventBody, ModelName, TokenUsage } from "../../events/index.ts";
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
}

export interface Amount {
  readonly tokens: number;
  readonly dollars: number;
}

/** What a session has spent itself: in total, and on its last days. */
export interface Spent {
  readonly total: Amount;
  /** By UTC day (`2026-01-31`), ascending. */
  readonly days: readonly (Amount & { readonly day: string })[];
}

/** Enough for a month, whichever day it is. */
const DAYS_KEPT = 62;

interface Call {
  readonly model?: ModelName;
  readonly time: number;
  readonly usage: TokenUsage;
}

export const nothingSpent: Spent = { total: { tokens: 0, dollars: 0 }, days: [] };

export const spentSchema: z.ZodType<Spent> = z.object({
  total: z.object({ tokens: z.number(), dollars: z.number() }),
  days: z.array(z.object({ day: z.string(), tokens: z.number(), dollars: z.number() })),
});

/** What a session has spent by its usage, with the prices at the time of each call. */
export function spentBy(usage: UsageState, known: KnownLimits): Spent {
  const calls = [...ownSteps(usage), ...ownBeside(usage)];
  return withCalls(
    nothingSpent,
    calls.toSorted((one, other) => one.time - other.time),
    known,
  );
}

/** The same, from what was spent at an earlier usage of the session: each call is priced once. */
export function spentSince(
  before: { readonly usage: UsageState; readonly spent: Spent },
  usage: UsageState,
  known: KnownLimits,
): Spent {
  const { steps, beside } = before.usage;
  const calls = [...usage.steps.slice(steps.length), ...usage.beside.slice(beside.length)];
  return withCalls(before.spent, calls, known);
}

function withCalls(spent: Spent, calls: readonly Call[], known: KnownLimits): Spent {
  return calls.reduce((sum, { model, time, usage: used }) => {
    const dollars = model === undefined ? undefined : callCost(model, used, time, known);
    return withCall(sum, time, { tokens: tokensOf(used), dollars: dollars ?? 0 });
  }, spent);
}

function withCall({ total, days }: Spent, time: number, call: Amount): Spent {
  const day = dayOf(time);
  const last = days.at(-1);
  const kept = last?.day === day ? days.slice(0, -1) : days;
  const today = { day, ...add(last?.day === day ? last : nothingSpent.total, call) };
  return { total: add(total, call), days: [...kept, today].slice(-DAYS_KEPT) };
}

/** What was spent in the period of a time. */
export function spentWithin({ total, days }: Spent, per: Budget["per"], time: number): Amount {
  if (per === undefined) return total;
  const period = dayOf(time).slice(0, per === "day" ? 10 : 7);
  return days.reduce(
    (sum, { day, ...amount }) => (day.startsWith(period) ? add(sum, amount) : sum),
    nothingSpent.total,
  );
}

export function add(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, dollars: one.dollars + other.dollars };
}

function tokensOf({ inputTokens, outputTokens }: TokenUsage): number {
  return inputTokens + outputTokens;
}

function dayOf(time: number): string {
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
 * The limit that a call would exceed; undefined if it may be made. `of`: `session`, or a key of the metadata.
 */
export function passedLimit(
  of: string,
  budget: Budget,
  spent: Amount,
  next: ReturnType<typeof leastCost>,
): Reached | undefined {
  for (const unit of ["tokens", "dollars"] as const) {
    const limit = budget[unit];
    if (limit === undefined) continue;
    const reached = { of, unit, limit, spent: spent[unit] };
    const cost = next[unit];
    if (cost === undefined) return { ...reached, unpriced: true };
    if (spent[unit] >= limit || spent[unit] + cost > limit) return reached;
  }
  return undefined;
}
