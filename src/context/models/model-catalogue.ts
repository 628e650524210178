/** The context windows and prices of models: Pydantic's `genai-prices`, loaded on first use. */

import type { PriceCalculationResult } from "@pydantic/genai-prices";
import { deepFreeze, hasCode, type ModelName, type TokenUsage } from "../../events/index.ts";
import { modelKey } from "../../projections/index.ts";
import { optionalPackage } from "../../shared/index.ts";
import type { ModelCatalogue, ModelLimits, ModelPrices } from "./model-limits.ts";

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
