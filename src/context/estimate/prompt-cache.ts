/** The provider's prompt cache, derived from the log: whether it is warm, and the cost of a miss. Pure. */

import type { ModelName } from "../../events/index.ts";
import { modelKey, type UsageState } from "../../projections/index.ts";
import { modelFamily } from "../models/model-family.ts";
import type { ModelLimits } from "../models/model-limits.ts";

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

/**
 * Milliseconds for which a prompt is cached after its last use. Anthropic: 5 minutes; OpenAI: 5 to 10
 * minutes; Google: minutes, not promised; DeepSeek: hours ("Prompt caching" of each).
 */
const LIFETIMES = {
  anthropic: 300_000,
  openai: 600_000,
  google: 300_000,
  deepseek: 7_200_000,
  xai: 300_000,
  zai: 300_000,
  mistral: 300_000,
  other: 300_000,
} as const;

/** How long Anthropic keeps what was marked, in its own words, and what the writes cost. Reads cost a tenth. */
export type CacheLifetime = "5m" | "1h";

const MARKED: Readonly<Record<CacheLifetime, { readonly ms: number; readonly write: number }>> = {
  "5m": { ms: 300_000, write: 1.25 },
  "1h": { ms: 3_600_000, write: 2 },
};

export const SHORTEST_LIFETIME_MS: number = Math.min(...Object.values(LIFETIMES));

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
  const { name } = modelFamily(model);
  const usual = name === "anthropic" ? MARKED[ttl].ms : LIFETIMES[name];
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
 * Whether marks on the next prompt are expected to pay: a session that was active within the lifetime goes on;
 * a turn with tools reads its prompt again in each further step. @param now epoch milliseconds.
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
