/**
 * Learns, for each model, the factor between our estimates of text and the billed tokens: the mean of the factors
 * from the last bills and of the factor that is known for the tokenizer beforehand.
 */

import { z } from "zod";
import {
  byIdSchema,
  estimateSchema,
  type ModelName,
  type PromptEstimate,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** Billed tokens for one estimated token of text, by a step. */
interface Learned {
  readonly ratio: number;
  /** At most 1. */
  readonly weight: number;
}

/** What is known of a factor before there are bills. */
export interface FactorPrior {
  readonly factor: number;
  /** How much the factors of such models differ from it: the standard deviation, as a share. */
  readonly spread: number;
}

export interface EstimateError {
  readonly step: number;
  readonly basis: PromptEstimate["basis"];
  readonly estimated: number;
  readonly billed: number;
}

export interface CalibrationState {
  /** The newest `MEMORY` of each model, by `modelKey`. */
  readonly models: Readonly<Record<string, readonly Learned[]>>;
  readonly running?: {
    readonly step: number;
    readonly model: string;
    readonly estimate: PromptEstimate;
  };
  /** Of the last billed step. */
  readonly last?: EstimateError;
}

/** The name of a model as a key: `provider:model`. */
export function modelKey({ provider, modelId }: ModelName): string {
  return `${provider}:${modelId}`;
}

/** How far our estimates of one kind of text are off: the standard deviation, as a share. */
const TEXT_SPREAD = 0.07;
/** Ratios beyond this many of the prior's spreads count as this many: the prompt has something else in it. */
const MOST_SPREADS = 3;
/** Later bills replace what earlier ones taught. */
const MEMORY = 12;
/**
 * A step with at least this many estimated tokens counts in full; in a smaller one the wrapping outweighs the
 * text.
 */
const FULL_STEP = 300;
const LEAST_TO_LEARN_FROM = 50;
/** Ratios outside of this range come from other content in the prompt, not from the tokenizer. */
const BELIEVABLE = { least: 0.5, most: 2 };

/** For estimated tokens of text: the prior's factor, corrected by the last bills within three of its spreads. */
export function calibrationFactor(
  state: CalibrationState,
  model: ModelName,
  { factor, spread }: FactorPrior,
): number {
  const learned = state.models[modelKey(model)] ?? [];
  const least = factor * Math.max(BELIEVABLE.least, 1 - MOST_SPREADS * spread);
  const most = factor * Math.min(BELIEVABLE.most, 1 + MOST_SPREADS * spread);
  // The number of steps that weighs as much as the known factor.
  let weights = (TEXT_SPREAD / spread) ** 2;
  let sum = weights * factor;
  for (const { ratio, weight } of learned) {
    weights += weight;
    sum += weight * Math.min(Math.max(ratio, least), most);
  }
  return sum / weights;
}

function learn(
  known: readonly Learned[],
  estimate: PromptEstimate,
  billed: number,
): readonly Learned[] {
  const { guessedTokens: guessed = 0, factor = 1, tokens } = estimate;
  const text = billed - (tokens - guessed * factor);
  const ratio = text / guessed;
  const { least, most } = BELIEVABLE;
  // A whole prompt has hidden parts: the provider's form of tool definitions, its own instructions.
  if (estimate.basis !== "anchored") return known;
  // Fewer tokens than its known parts have: the previous prompt contained something else, which distorted the
  // figure.
  if (text < -LEAST_TO_LEARN_FROM) return known.slice(0, -1);
  if (guessed < LEAST_TO_LEARN_FROM || ratio < least * factor || ratio > most * factor) {
    return known;
  }
  return [...known, { ratio, weight: Math.min(1, guessed / FULL_STEP) }].slice(-MEMORY);
}

export const calibration: Projection<CalibrationState> = defineProjection<CalibrationState>({
  name: "calibration",
  version: 2,
  follows: "branch",
  schema: z.lazy(() =>
    z.object({
      models: byIdSchema(z.array(z.object({ ratio: z.number(), weight: z.number() })).readonly()),
      running: z
        .object({ step: z.int(), model: z.string(), estimate: estimateSchema })
        .exactOptional(),
      last: z
        .object({
          step: z.int(),
          basis: z.enum(["length", "anchored", "counted"]),
          estimated: z.number(),
          billed: z.number(),
        })
        .exactOptional(),
    }),
  ),
  initial: { models: {} },
  on: {
    "step.started": (state, { data: { step, model, estimate } }) => ({
      ...state,
      running: { step, model: modelKey(model), estimate },
    }),
    "step.finished": (state, { data: { step, usage } }) => {
      const { running, ...rest } = state;
      if (running?.step !== step) return state;
      if (usage.basis !== "measured" || usage.inputTokens === 0) return rest;
      const { model, estimate } = running;
      const billed = usage.inputTokens;
      return {
        models: { ...rest.models, [model]: learn(rest.models[model] ?? [], estimate, billed) },
        last: { step, basis: estimate.basis, estimated: estimate.tokens, billed },
      };
    },
  },
});
