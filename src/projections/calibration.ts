/**
 * Learns, for each model, the factor between our estimates of text and the billed tokens. Bounded, so that one
 * odd bill has little effect, and slow, so that a display does not jump.
 */

import { z } from "zod";
import {
  byIdSchema,
  estimateSchema,
  type ModelName,
  type PromptEstimate,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** Estimated tokens of text, and the tokens that were billed for them. */
interface Learned {
  readonly guessed: number;
  readonly billed: number;
}

export interface EstimateError {
  readonly step: number;
  readonly basis: PromptEstimate["basis"];
  readonly estimated: number;
  readonly billed: number;
}

export interface CalibrationState {
  /** By `modelKey`. */
  readonly models: Readonly<Record<string, Learned>>;
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

/** Weight of the family's factor, as if so many tokens had been billed by it. */
const PRIOR_TOKENS = 1000;
/** Older bills fade after this many estimated tokens. */
const MEMORY_TOKENS = 30_000;
/** The most tokens that one step counts for. */
const MOST_OF_A_STEP = 4000;
/** With fewer tokens, the bill depends on the wrapping rather than the text. */
const LEAST_TO_LEARN_FROM = 50;
/** Ratios outside of this range come from other content in the prompt, not from the tokenizer. */
const BELIEVABLE = { least: 0.5, most: 2 };

/** For estimated tokens of text: from half of `prior`, the factor of the model's family, to double. */
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
  const text = billed - (tokens - guessed * factor);
  const ratio = text / guessed;
  const { least, most } = BELIEVABLE;
  // A whole prompt has hidden parts: the provider's form of tool definitions, its own instructions.
  if (estimate.basis !== "anchored") return known;
  if (guessed < LEAST_TO_LEARN_FROM || ratio < least * factor || ratio > most * factor) {
    return known;
  }
  const weight = Math.min(1, MOST_OF_A_STEP / guessed);
  const fading = Math.min(1, MEMORY_TOKENS / (known.guessed + guessed * weight));
  return {
    guessed: (known.guessed + guessed * weight) * fading,
    billed: (known.billed + text * weight) * fading,
  };
}

export const calibration: Projection<CalibrationState> = defineProjection<CalibrationState>({
  name: "calibration",
  version: 1,
  follows: "branch",
  schema: z.lazy(() =>
    z.object({
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
        models: { ...rest.models, [model]: learn(rest.models[model], estimate, billed) },
        last: { step, basis: estimate.basis, estimated: estimate.tokens, billed },
      };
    },
  },
});
