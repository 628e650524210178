/** Limits and prices of models: the catalogue's, learned ones, and the user's, which win. Pure. */

import { z } from "zod";
import { deepFreeze, type ModelName, type TokenUsage } from "../../events/index.ts";
import { check, optionsOf } from "../../validation/index.ts";
import { modelKey, type LearnedLimits } from "../../projections/index.ts";

/** Prices in US dollars for a million tokens. */
export interface ModelPrices {
  readonly input: number;
  readonly output: number;
  /** Default: the price of input. */
  readonly cacheRead?: number;
  /** Default: the price of input. */
  readonly cacheWrite?: number;
}

/** Limits of a model. An absent limit is not known. */
export interface ModelLimits {
  /** Tokens of prompt and reply together. */
  readonly contextWindow?: number;
  /** The most tokens of a reply. */
  readonly maxOutputTokens?: number;
  readonly prices?: ModelPrices;
  /** Milliseconds for which the provider caches the beginning of a prompt. */
  readonly cacheLifetimeMs?: number;
}

/** A source of limits and prices at a time (epoch milliseconds): prices change. */
export interface ModelCatalogue {
  limits(model: ModelName, time: number): ModelLimits | undefined;
  /** US dollars for a call, by price tiers; undefined if no price is known. */
  cost(model: ModelName, usage: TokenUsage, time: number): number | undefined;
}

/** The user's figures take precedence over learned ones, and those over the catalogue's. */
export interface KnownLimits {
  readonly catalogue?: ModelCatalogue;
  readonly learned?: LearnedLimits;
  /** The user's own figures, by `provider:model` or by the model alone. */
  readonly overrides?: Readonly<Record<string, ModelLimits>>;
}

/** Limits of the offline model, which no catalogue has. */
const OWN: Readonly<Record<string, ModelLimits>> = deepFreeze({
  "turnlog:offline": { contextWindow: 1_000_000 },
});

function overridden(model: ModelName, { overrides }: KnownLimits): ModelLimits {
  if (overrides === undefined) return {};
  const key = modelKey(model);
  if (Object.hasOwn(overrides, key)) return overrides[key] ?? {};
  return Object.hasOwn(overrides, model.modelId) ? (overrides[model.modelId] ?? {}) : {};
}

const anything = z.unknown();
const knownSchema = optionsOf<KnownLimits>(
  { catalogue: anything, learned: anything, overrides: anything },
  {},
);

/** A window from a provider's error wins over the catalogue's, which is ignored if a larger prompt was billed. */
export function modelLimits(model: ModelName, time: number, known: KnownLimits): ModelLimits {
  check(knownSchema, known, "modelLimits", { name: "known" });
  const { catalogue, learned } = known;
  const key = modelKey(model);
  const listed = catalogue?.limits(model, time) ?? OWN[key] ?? {};
  const fromErrors = learned?.windows[key];
  const largest = learned?.largest[key] ?? 0;
  const { contextWindow: listedWindow, ...rest } = listed;
  const contextWindow =
    fromErrors ??
    (listedWindow !== undefined && listedWindow >= largest ? listedWindow : undefined);
  return {
    ...rest,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...overridden(model, known),
  };
}

/** US dollars for a call; undefined if no price is known. */
export function callCost(
  model: ModelName,
  usage: TokenUsage,
  time: number,
  known: KnownLimits,
): number | undefined {
  check(knownSchema, known, "callCost", { name: "known" });
  return uncheckedCallCost(model, usage, time, known);
}

/** `callCost` for a loop over many calls. */
export function uncheckedCallCost(
  model: ModelName,
  usage: TokenUsage,
  time: number,
  known: KnownLimits,
): number | undefined {
  const { prices } = overridden(model, known);
  return prices === undefined ? known.catalogue?.cost(model, usage, time) : priced(usage, prices);
}

/** Tokens without cache figures cost the price of input. */
function priced(usage: TokenUsage, { input, output, cacheRead, cacheWrite }: ModelPrices): number {
  const read = usage.cacheReadTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  const fresh = Math.max(0, usage.inputTokens - read - written);
  const dollars =
    fresh * input +
    read * (cacheRead ?? input) +
    written * (cacheWrite ?? input) +
    usage.outputTokens * output;
  return dollars / 1_000_000;
}
