/** How providers cache the beginning of a prompt, by family of models. A pure table with its sources. */

import type { ModelName } from "../../events/index.ts";
import { modelFamily } from "./model-family.ts";

/** How long Anthropic keeps what was marked, in its own words, and what the writes cost. Reads cost a tenth. */
export type CacheLifetime = "5m" | "1h";

export const MARKED: Readonly<
  Record<CacheLifetime, { readonly ms: number; readonly write: number }>
> = {
  "5m": { ms: 300_000, write: 1.25 },
  "1h": { ms: 3_600_000, write: 2 },
};

/** What is read of the beginning that a prompt shares with an earlier one. */
export interface CacheReads {
  /** What is read grows by so many tokens. */
  readonly unit: number;
  /** Tokens of the shortest beginning that is kept. */
  readonly least: number;
  /** Where a prompt was cut for the cache: after any token, or at the marks of the request only. */
  readonly at: "tokens" | "marks";
  /** Whether the reply is kept with its prompt. */
  readonly replies: boolean;
}

export interface CacheRule {
  /** Milliseconds after the last use. */
  readonly lifetimeMs: number;
  /** Absent if the provider publishes none. */
  readonly reads?: CacheReads;
}

const unknown: CacheRule = { lifetimeMs: 300_000 };

function reads(unit: number, least: number, more: Partial<CacheReads> = {}): CacheReads {
  return { unit, least, at: "tokens", replies: false, ...more };
}

/** All compare tools, then instructions, then messages. */
const rules = {
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching
  anthropic: { lifetimeMs: MARKED["5m"].ms, reads: reads(1, 1024, { at: "marks" }) },
  // https://platform.openai.com/docs/guides/prompt-caching: 5 to 10 minutes.
  openai: { lifetimeMs: 600_000, reads: reads(128, 1024) },
  // https://ai.google.dev/gemini-api/docs/caching: minutes, not promised.
  google: { lifetimeMs: 300_000, reads: reads(1, 1024) },
  // https://api-docs.deepseek.com/guides/kv_cache: hours. Bills show that replies are kept.
  deepseek: { lifetimeMs: 7_200_000, reads: reads(64, 64, { replies: true }) },
  xai: unknown,
  zai: unknown,
  mistral: unknown,
  other: unknown,
} as const satisfies Record<string, CacheRule>;

/** The least beginnings that differ from their family's. The first that matches counts. */
const leasts: readonly (readonly [RegExp, number])[] = [
  [/opus-4-[567]|haiku-4-5/, 4096],
  [/haiku/, 2048],
  [/gemini-3/, 4096],
  [/gemini.*pro/, 2048],
];

export const SHORTEST_LIFETIME_MS: number = Math.min(
  ...Object.values(rules).map(({ lifetimeMs }) => lifetimeMs),
);

export function cacheRule(model: ModelName): CacheRule {
  const rule: CacheRule = rules[modelFamily(model).name];
  const least = leasts.find(([models]) => models.test(model.modelId))?.[1];
  if (rule.reads === undefined || least === undefined) return rule;
  return { ...rule, reads: { ...rule.reads, least } };
}
