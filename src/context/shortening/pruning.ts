/**
 * Plans which old tool results a placeholder replaces: saved tokens against the loss of the provider's cache
 * (docs/decisions/0018-pruning-and-the-cache.md). Pure: the runtime records the plan.
 */

import type { z } from "zod";
import { amount, check, list, optionsOf } from "../../validation/index.ts";
import {
  itemMessages,
  PRUNED_PLACEHOLDER,
  sightedItem,
  type CallPart,
  type ContextView,
  type HistoryState,
  modelKey,
  type UsageState,
} from "../../projections/index.ts";
import {
  type MessageSize,
  type Meter,
  addSize,
  noSize,
  resultSizes,
} from "../estimate/message-size.ts";
import { shownUnits, type ShownUnit } from "../compaction/shown-units.ts";
import type { ModelName } from "../../events/index.ts";
import { type CacheLifetime, cacheRule, MARKED } from "../models/model-family.ts";
import type { ModelLimits } from "../models/model-limits.ts";

export interface PruneOptions {
  /** Tokens of the newest tool results that stay. Default 40,000. */
  readonly protectTokens?: number;
  /** The least tokens that a pruning must save. Default 20,000. */
  readonly minimumGain?: number;
  /** Names of tools whose results are never pruned. */
  readonly keepTools?: readonly string[];
}

export interface PruningInput {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly meter: Meter;
  /** The model's factor (`calibrationFactor`). */
  readonly factor: number;
  readonly cache: PromptCache;
  /** A compaction loses the cache anyway. */
  readonly occasion: "step" | "compaction";
  readonly options?: PruneOptions;
}

export interface PruningPlan {
  readonly calls: readonly { readonly step: number; readonly callId: string }[];
  readonly savedTokens: number;
  /** `cold`: the cache is cold; `compaction`: it is lost anyway; `pays`: the gain is more than the loss. */
  readonly because: "cold" | "compaction" | "pays";
}

export const PRUNE_DEFAULTS: Required<Pick<PruneOptions, "protectTokens" | "minimumGain">> = {
  protectTokens: 40_000,
  minimumGain: 20_000,
};

/** The least gain of a single result: one that is hardly longer than the placeholder stays. */
const LEAST_GAIN = 20;

interface Candidate {
  readonly step: number;
  readonly callId: string;
  readonly gain: number;
  /** Tokens of the prompt after it. */
  readonly after: number;
}

export const pruneSchema: z.ZodType = optionsOf<PruneOptions>(
  { protectTokens: amount, minimumGain: amount, keepTools: list },
  {},
);

/** The results to prune before the next step; undefined if it is not worth it. */
export function planPruning(input: PruningInput): PruningPlan | undefined {
  const { options = {} } = input;
  check(pruneSchema, options, "planPruning", { name: "options" });
  const { minimumGain = PRUNE_DEFAULTS.minimumGain } = options;
  const found = candidates(input);
  const because =
    input.occasion === "compaction" ? "compaction" : input.cache.warm ? "pays" : "cold";
  const chosen = because === "pays" ? worthwhile(found, minimumGain, input.cache) : found;
  const savedTokens = Math.round(sumOfGains(chosen));
  if (chosen.length === 0 || savedTokens < minimumGain) return undefined;
  return {
    calls: chosen.map(({ step, callId }) => ({ step, callId })),
    savedTokens,
    because,
  };
}

function sumOfGains(chosen: readonly Candidate[]): number {
  return chosen.reduce((sum, { gain }) => sum + gain, 0);
}

/** Results that may be pruned, newest first: old enough, not pruned yet, and not of the latest turn. */
function candidates({ history, view, meter, factor, options }: PruningInput): readonly Candidate[] {
  const { protectTokens = PRUNE_DEFAULTS.protectTokens, keepTools = [] } = options ?? {};
  const kept = new Set(keepTools);
  const pruned = new Set(
    view.prunings.flatMap(({ calls }) => calls.map(({ step, callId }) => `${step} ${callId}`)),
  );
  const tokens = ({ text, media, around }: MessageSize): number => text * factor + media + around;
  const placeholder = tokens(meter.text(PRUNED_PLACEHOLDER));
  const found: Candidate[] = [];
  let results = 0;
  const open = history.open === undefined ? [] : itemMessages(sightedItem(history.open, view));
  let after = tokens(sizeOf(open, meter));
  for (const unit of shownUnits(history, view).toReversed()) {
    // Nothing before a summary is left to prune.
    if (unit.kind === "summary") break;
    for (const { call, step, size } of resultsOf(unit, view, meter).toReversed()) {
      // The tokens around a result stay.
      const gain = tokens({ ...size, around: 0 }) - placeholder;
      if (pruned.has(`${step} ${call.callId}`)) {
        after += placeholder + size.around;
        continue;
      }
      // A result that is partly among the protected tokens is protected as a whole.
      const isOld = results >= protectTokens && unit.turn < history.turn;
      if (isOld && gain >= LEAST_GAIN && !kept.has(call.toolName)) {
        found.push({ step, callId: call.callId, gain, after });
      }
      results += tokens(size);
      after += tokens(size);
    }
    after += tokens(sizeWithoutResults(unit, meter));
  }
  return found;
}

interface Result {
  readonly call: CallPart;
  readonly step: number;
  readonly size: MessageSize;
}

function sizeOf(messages: ReturnType<typeof itemMessages>, meter: Meter): MessageSize {
  return messages.map((message) => meter.message(message)).reduce(addSize, noSize);
}

/** The shown results of calls that succeeded. */
function resultsOf({ items }: ShownUnit, view: ContextView, meter: Meter): readonly Result[] {
  return items.flatMap((whole) => {
    const item = sightedItem(whole, view);
    if (item.kind !== "step") return [];
    const sizes = resultSizes(item, meter);
    return item.parts.flatMap((part) => {
      if (part.kind !== "call" || part.outcome.status !== "succeeded") return [];
      const size = sizes.get(part.callId);
      return size === undefined ? [] : [{ call: part, step: item.step, size }];
    });
  });
}

function sizeWithoutResults({ items }: ShownUnit, meter: Meter): MessageSize {
  let size = noSize;
  for (const item of items)
    for (const message of itemMessages(item))
      if (message.role !== "tool") size = addSize(size, meter.message(message));
  return size;
}

/**
 * How far back it pays to prune with a warm cache. The cost: everything after the oldest pruned result is written
 * to the cache again. The gain: the expected steps do not read pruned tokens. Returns the best balance, or none.
 */
function worthwhile(
  found: readonly Candidate[],
  minimumGain: number,
  { read, write, expectedSteps }: PromptCache,
): readonly Candidate[] {
  let gain = 0;
  let best = { net: 0, count: 0 };
  for (const [index, candidate] of found.entries()) {
    // `after` includes the newer candidates, which are pruned as well.
    const behind = candidate.after - gain;
    gain += candidate.gain;
    const net = expectedSteps * read * gain - Math.max(0, write - read) * behind;
    if (gain >= minimumGain && net > best.net) best = { net, count: index + 1 };
  }
  return found.slice(0, best.count);
}

// The provider's prompt cache, derived from the log: whether it is warm, and the cost of a miss. Pure.

/** The provider's prompt cache at the next step. */
export interface PromptCache {
  /** Whether the cache still has the beginning of the next prompt. */
  readonly warm: boolean;
  /** The price of a cached token, relative to plain input. */
  readonly read: number;
  /** The price of a token that is written to the cache, relative to plain input. */
  readonly write: number;
  /** The expected number of steps before the cache expires. */
  readonly expectedSteps: number;
}

/** Relative prices if none are known: those of the most expensive providers. */
const USUAL = { read: 0.1, write: 1.25 };

/** After so many bills without cached tokens, the cache counts as unused. */
const BILLS = 2;

function prices({ prices: known }: ModelLimits): Pick<PromptCache, "read" | "write"> {
  if (known === undefined || known.input <= 0) return USUAL;
  return {
    read: (known.cacheRead ?? known.input) / known.input,
    write: (known.cacheWrite ?? known.input) / known.input,
  };
}

/**
 * Cold if its lifetime is over, the model changed, or the last bills had no cached tokens. A provider without
 * cache figures counts as having a cache. @param now epoch milliseconds. @param ttl of Claude's marks.
 */
export function promptCache(
  usage: UsageState,
  model: ModelName,
  limits: ModelLimits,
  now: number,
  ttl: CacheLifetime = "5m",
): PromptCache {
  const { lifetimeMs, reads } = cacheRule(model);
  const usual = reads?.at === "marks" ? MARKED[ttl].ms : lifetimeMs;
  const lifetime = limits.cacheLifetimeMs ?? usual;
  const last = usage.steps.at(-1);
  const bills = usage.steps.slice(-BILLS);
  const unused =
    bills.length === BILLS &&
    bills.every(
      ({ usage: { cacheReadTokens, cacheWriteTokens } }) =>
        cacheReadTokens === 0 && (cacheWriteTokens ?? 0) === 0,
    );
  const warm =
    last !== undefined &&
    modelKey(last.model) === modelKey(model) &&
    now - last.time <= lifetime &&
    !unused;
  return { warm, ...prices(limits), expectedSteps: stepsOfATurn(usage) };
}

/**
 * Whether marks on the next prompt are expected to pay: a session that was active within the lifetime is expected
 * to continue; a turn with tools reads its prompt again in each further step. @param now epoch milliseconds.
 */
export function marksPay(
  usage: UsageState,
  hasTools: boolean,
  ttl: CacheLifetime,
  now: number,
): boolean {
  const { ms, write } = MARKED[ttl];
  const last = usage.steps.at(-1);
  if (last !== undefined && now - last.time <= ms) return true;
  if (!hasTools) return false;
  return last === undefined || (stepsOfATurn(usage) - 1) * (1 - USUAL.read) > write - 1;
}

/** The mean number of steps of a turn. Between turns the cache often expires, and then pruning is free. */
function stepsOfATurn({ steps }: UsageState): number {
  const turns = new Set(steps.map(({ turn }) => turn)).size;
  return turns === 0 ? 1 : Math.max(1, steps.length / turns);
}
