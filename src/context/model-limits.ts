/**
 * How much a model takes and what it asks for it: from a catalogue, from what its provider said
 * itself, and from the user, who has the last word.
 */

import { z } from "zod";
import { deepFreeze, type ModelName, type TokenUsage } from "../events/index.ts";
import { check, optionsOf } from "../validation/index.ts";
import { modelKey, type LearnedLimits } from "../projections/index.ts";

/** US dollars for a million tokens. */
export interface ModelPrices {
  readonly input: number;
  readonly output: number;
  /** Default: the price of input. */
  readonly cacheRead?: number;
  /** Default: the price of input. */
  readonly cacheWrite?: number;
}

/** What one model takes and gives. A limit that is absent is not known. */
export interface ModelLimits {
  /** Tokens of prompt and reply together. */
  readonly contextWindow?: number;
  /** Tokens of a reply. */
  readonly maxOutputTokens?: number;
  readonly prices?: ModelPrices;
  /** Media types, or their beginnings (`image/`), that a prompt may hold. */
  readonly modalities?: readonly string[];
  readonly reasoning?: boolean;
  /** Milliseconds that the provider keeps a prompt's beginning. */
  readonly cacheLifetimeMs?: number;
}

/** What is known of a model at a time (epoch milliseconds), as prices change. */
export interface ModelCatalogue {
  limits(model: ModelName, at: number): ModelLimits | undefined;
  /** US dollars for a call, by the tiers of its size; undefined where no price is known. */
  cost(model: ModelName, usage: TokenUsage, at: number): number | undefined;
}

/**
 * Where a model's limits may be known from; what the user says goes before what was learned, and
 * that before the catalogue.
 */
export interface KnownLimits {
  readonly catalogue?: ModelCatalogue;
  readonly learned?: LearnedLimits;
  /** The user's own figures, by `provider:model` or by the model alone. */
  readonly overrides?: Readonly<Record<string, ModelLimits>>;
}

/** Of models that no catalogue has: our offline model reads whatever it is given, and is to be given all of it. */
const OWN: Readonly<Record<string, ModelLimits>> = deepFreeze({
  "turnlog:offline": { contextWindow: 1_000_000 },
});

/** The user's figures for a model. */
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

/**
 * The limits of a model. A window that the provider told in an error goes before the catalogue's;
 * a catalogue's window that is smaller than a prompt which was billed is not believed.
 */
export function modelLimits(model: ModelName, at: number, known: KnownLimits): ModelLimits {
  check(knownSchema, known, "modelLimits", { name: "known" });
  const { catalogue, learned } = known;
  const key = modelKey(model);
  const listed = catalogue?.limits(model, at) ?? OWN[key] ?? {};
  const told = learned?.windows[key];
  const largest = learned?.largest[key] ?? 0;
  const { contextWindow: listedWindow, ...rest } = listed;
  const contextWindow =
    told ?? (listedWindow !== undefined && listedWindow >= largest ? listedWindow : undefined);
  return {
    ...rest,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...overridden(model, known),
  };
}

/** US dollars for a call, or undefined where no price is known. */
export function callCost(
  model: ModelName,
  usage: TokenUsage,
  at: number,
  known: KnownLimits,
): number | undefined {
  check(knownSchema, known, "callCost", { name: "known" });
  const { prices } = overridden(model, known);
  return prices === undefined ? known.catalogue?.cost(model, usage, at) : priced(usage, prices);
}

/** Parts that the provider did not tell are priced as plain input. */
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
