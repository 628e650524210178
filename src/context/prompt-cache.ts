/** What is known of the provider's prompt cache: whether it still holds the last prompt, and what a miss costs. */

import type { ModelName } from "../events/index.ts";
import { modelKey, type UsageState } from "../projections/index.ts";
import { modelFamily } from "./model-family.ts";
import type { ModelLimits } from "./model-limits.ts";

/** What the provider's prompt cache means for the next prompt's price. */
export interface PromptCache {
  /** Whether the beginning of the next prompt would be read from the cache. */
  readonly warm: boolean;
  /** Price of a token that is read from it, the price of plain input being 1. */
  readonly read: number;
  /** Price of a token that has to be put there again. */
  readonly write: number;
  /** Steps that are expected before the cache grows cold by itself. */
  readonly expectedSteps: number;
}

/**
 * Milliseconds that a prompt is kept after its last use. Anthropic: 5 minutes; OpenAI: 5 to 10
 * minutes; Google: minutes, not promised; DeepSeek: hours ("Prompt caching" of each).
 */
const LIFETIMES = {
  anthropic: 300_000,
  openai: 600_000,
  google: 300_000,
  deepseek: 7_200_000,
  other: 300_000,
} as const;

/** Milliseconds after which any provider's cache may have grown cold. */
export const SHORTEST_LIFETIME_MS: number = Math.min(...Object.values(LIFETIMES));

/** Where no price is known: a tenth for reading, a quarter more for writing, as the dearest do. */
const USUAL = { read: 0.1, write: 1.25 };

/** Bills that must tell of no cache before we believe that there is none. */
const BILLS = 2;

function prices({ prices: known }: ModelLimits): Pick<PromptCache, "read" | "write"> {
  if (known === undefined || known.input <= 0) return USUAL;
  return {
    read: (known.cacheRead ?? known.input) / known.input,
    write: (known.cacheWrite ?? known.input) / known.input,
  };
}

/**
 * The cache as the log tells of it. It is cold when too much time has passed, when another model
 * comes, or when the last bills tell of none; a provider that tells nothing is believed to have one.
 * @param now epoch milliseconds.
 */
export function promptCache(
  usage: UsageState,
  model: ModelName,
  limits: ModelLimits,
  now: number,
): PromptCache {
  const lifetime = limits.cacheLifetimeMs ?? LIFETIMES[modelFamily(model).name];
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
    now - last.at <= lifetime &&
    !unused;
  return { warm, ...prices(limits), expectedSteps: stepsOfATurn(usage) };
}

/** Between turns a user thinks, and the cache grows cold: then pruning is free. */
function stepsOfATurn({ steps }: UsageState): number {
  const turns = new Set(steps.map(({ turn }) => turn)).size;
  return turns === 0 ? 1 : Math.max(1, steps.length / turns);
}
