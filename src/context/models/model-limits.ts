/**
 * Limits and prices of models: learned ones, the user's, which win, and the catalogue's: Pydantic's `genai-prices`,
 * loaded on first use.
 */

import { z } from "zod";
import { deepFreeze, type ModelName, type TokenUsage, hasCode } from "../../events/index.ts";
import { check, optionsOf } from "../../validation/index.ts";
import { modelKey, type LearnedLimits } from "../../projections/index.ts";
import type { PriceCalculationResult } from "@pydantic/genai-prices";
import { optionalPackage } from "../../shared/index.ts";

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

// The context windows and prices of models: Pydantic's `genai-prices`, loaded on first use.

type Calculation = NonNullable<PriceCalculationResult>;

/** A number of tokens in the lowest price tier. */
const SAMPLE = 1000;
/** Limits are read before each step; prices change at most each minute. */
const MINUTE_MS = 60_000;

/** As an option: none without its package, and windows and prices are those of `context.limits` alone. */
export async function shippedCatalogue(): Promise<{ readonly catalogue?: ModelCatalogue }> {
  try {
    return { catalogue: await modelCatalogue() };
  } catch (error) {
    if (hasCode(error, "PACKAGE_MISSING")) return {};
    throw error;
  }
}

/**
 * Public context windows and prices of models, as of the installed version of the catalogue. Uses no
 * network and no clock.
 * @throws TurnlogError `PACKAGE_MISSING` without the package `@pydantic/genai-prices`
 */
export async function modelCatalogue(): Promise<ModelCatalogue> {
  const { calcPrice } = await optionalPackage(
    "@pydantic/genai-prices",
    "The catalogue of models (their windows and prices)",
    async () => await import("@pydantic/genai-prices"),
  );
  const calculate = (
    model: ModelName,
    usage: Parameters<typeof calcPrice>[0],
    time: number,
  ): Calculation | undefined => {
    const timestamp = new Date(time);
    const { provider, modelId } = model;
    return (
      calcPrice(usage, modelId, { providerId: provider, timestamp }) ??
      // A gateway: `openai/gpt-5` from another provider.
      calcPrice(usage, modelId.slice(modelId.lastIndexOf("/") + 1), { timestamp }) ??
      undefined
    );
  };
  const dollars = (model: ModelName, usage: Record<string, number>, time: number): number =>
    ((calculate(model, usage, time)?.total_price ?? 0) / SAMPLE) * 1_000_000;
  const pricesOf = (model: ModelName, time: number): ModelPrices => ({
    input: dollars(model, { input_tokens: SAMPLE }, time),
    output: dollars(model, { output_tokens: SAMPLE }, time),
    cacheRead: dollars(model, { input_tokens: SAMPLE, cache_read_tokens: SAMPLE }, time),
    cacheWrite: dollars(model, { input_tokens: SAMPLE, cache_write_tokens: SAMPLE }, time),
  });
  const limitsOf = (model: ModelName, time: number): ModelLimits | undefined => {
    const found = calculate(model, { input_tokens: 0 }, time);
    if (found === undefined) return undefined;
    const { context_window: contextWindow } = found.model;
    const prices = pricesOf(model, time);
    return deepFreeze(contextWindow === undefined ? { prices } : { contextWindow, prices });
  };
  const newest = new Map<string, { readonly minute: number; readonly limits?: ModelLimits }>();
  return {
    limits: (model, time) => {
      const minute = Math.floor(time / MINUTE_MS);
      const key = modelKey(model);
      const known = newest.get(key);
      if (known?.minute === minute) return known.limits;
      const limits = limitsOf(model, time);
      newest.set(key, limits === undefined ? { minute } : { minute, limits });
      return limits;
    },
    cost: (model, usage, time) => calculate(model, counted(usage), time)?.total_price,
  };
}

/** `input_tokens` includes the cached tokens. */
function counted(usage: TokenUsage): Record<string, number> {
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: cacheReadTokens,
    cache_write_tokens: cacheWriteTokens,
  };
}
