/**
 * How far our guesses of text were from what a model's provider billed: a factor for each model,
 * learned from the log. Bounded, so that one odd bill cannot lead it astray, and slow, so that a
 * display does not jump.
 */

import { z } from "zod";
import {
  byIdSchema,
  estimateSchema,
  type ModelName,
  type PromptEstimate,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** Tokens of text that were guessed, and what they turned out to be. */
interface Learned {
  readonly guessed: number;
  readonly billed: number;
}

/** How far the estimate of a step was from what was billed. */
export interface EstimateError {
  readonly step: number;
  readonly basis: PromptEstimate["basis"];
  readonly estimated: number;
  readonly billed: number;
}

/** How far estimates were from what providers billed, for each model. */
export interface CalibrationState {
  /** By `modelKey`. */
  readonly models: Readonly<Record<string, Learned>>;
  readonly running?: {
    readonly step: number;
    readonly model: string;
    readonly estimate: PromptEstimate;
  };
  /** Of the last step whose bill came. */
  readonly last?: EstimateError;
}

/** The name of a model as a key: `provider:model`. */
export function modelKey({ provider, modelId }: ModelName): string {
  return `${provider}:${modelId}`;
}

/** Before that much was guessed, the family's own factor has more say than what was learned. */
const PRIOR_TOKENS = 1000;
/** Older bills fade once this much was guessed. */
const MEMORY_TOKENS = 30_000;
/** One step teaches no more than this. */
const MOST_OF_A_STEP = 4000;
/** Fewer tokens tell of the wrapping and not of the text. */
const LEAST_TO_LEARN_FROM = 50;
/** What lies outside is not text that was counted differently: something else was in the prompt. */
const BELIEVABLE = { least: 0.5, most: 2 };

/**
 * What to multiply guessed tokens of text with, for a model whose family has `prior`. Never less
 * than half of it nor more than double.
 */
export function calibrationFactor(
  state: CalibrationState,
  model: ModelName,
  prior: number,
): number {
  const learned = state.models[modelKey(model)];
  if (learned === undefined) return prior;
  const factor = (prior * PRIOR_TOKENS + learned.billed) / (PRIOR_TOKENS + learned.guessed);
  return Math.min(Math.max(factor, prior * BELIEVABLE.least), prior * BELIEVABLE.most);
}

function learn(before: Learned | undefined, estimate: PromptEstimate, billed: number): Learned {
  const known = before ?? { guessed: 0, billed: 0 };
  const { guessedTokens: guessed = 0, factor = 1, tokens } = estimate;
  const told = billed - (tokens - guessed * factor);
  const ratio = told / guessed;
  const { least, most } = BELIEVABLE;
  // A whole prompt has what nobody showed us: tool definitions in the provider's own form, its instructions.
  if (estimate.basis !== "anchored") return known;
  if (guessed < LEAST_TO_LEARN_FROM || ratio < least * factor || ratio > most * factor) {
    return known;
  }
  const weight = Math.min(1, MOST_OF_A_STEP / guessed);
  const fading = Math.min(1, MEMORY_TOKENS / (known.guessed + guessed * weight));
  return {
    guessed: (known.guessed + guessed * weight) * fading,
    billed: (known.billed + told * weight) * fading,
  };
}

/** Folds what providers billed for prompts that had been estimated. */
export const calibration: Projection<CalibrationState> = defineProjection<CalibrationState>({
  name: "calibration",
  version: 1,
  schema: z.object({
    models: byIdSchema(z.object({ guessed: z.number(), billed: z.number() })),
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
        models: { ...rest.models, [model]: learn(rest.models[model], estimate, billed) },
        last: { step, basis: estimate.basis, estimated: estimate.tokens, billed },
      };
    },
  },
});
