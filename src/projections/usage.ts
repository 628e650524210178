/** Token figures: per step, per turn and in all. Each says whether it was measured or estimated. */

import { z } from "zod";
import {
  usageSchema,
  type ModelName,
  type PromptEstimate,
  type TokenUsage,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface StepUsage {
  readonly turn: number;
  readonly step: number;
  readonly model: ModelName;
  readonly usage: TokenUsage;
}

export interface UsageState {
  /** One for each attempt at a step that has ended and spent something, in order. */
  readonly steps: readonly StepUsage[];
  readonly total: TokenUsage;
  /** The step that is running, with the estimated size of its prompt. */
  readonly running?: RunningStep;
}

export interface RunningStep {
  readonly turn: number;
  readonly step: number;
  readonly model: ModelName;
  readonly estimate: PromptEstimate;
}

/** Measured only if every summand was. A part that one summand does not tell is left out of the sum. */
export function addUsage(left: TokenUsage, right: TokenUsage): TokenUsage {
  const sum: TokenUsage = {
    basis: left.basis === "measured" && right.basis === "measured" ? "measured" : "estimated",
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
  };
  const parts = [
    "uncachedInputTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
    "textTokens",
    "reasoningTokens",
  ] as const;
  const told = parts.flatMap((part) => {
    const [one, other] = [left[part], right[part]];
    return one === undefined || other === undefined ? [] : [[part, one + other] as const];
  });
  return { ...sum, ...Object.fromEntries(told) };
}

/** No tokens at all: the sum of no steps. */
export const noUsage: TokenUsage = {
  basis: "measured",
  inputTokens: 0,
  outputTokens: 0,
  uncachedInputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  textTokens: 0,
  reasoningTokens: 0,
};

/** The sum over the steps of one turn. */
export function turnUsage(state: UsageState, turn: number): TokenUsage {
  return state.steps
    .filter((step) => step.turn === turn)
    .reduce((sum, step) => addUsage(sum, step.usage), noUsage);
}

function ended(state: UsageState, step: number, spent: TokenUsage): UsageState {
  const { running, ...rest } = state;
  if (running === undefined || running.step !== step) return state;
  // The provider's raw figures stay in the log; a running sum has no use for them.
  const { raw: _, ...usage } = spent;
  const { turn, model } = running;
  return {
    ...rest,
    steps: [...state.steps, { turn, step, model, usage }],
    total: addUsage(state.total, usage),
  };
}

const modelSchema = z.looseObject({ provider: z.string(), modelId: z.string() });
const stepSchema = { turn: z.int(), step: z.int(), model: modelSchema };
const estimateSchema = z.looseObject({
  tokens: z.number(),
  basis: z.enum(["length", "anchored"]),
});

export const usage: Projection<UsageState> = defineProjection<UsageState>({
  name: "usage",
  version: 2,
  schema: z.object({
    steps: z.array(z.object({ ...stepSchema, usage: usageSchema })),
    total: usageSchema,
    running: z.object({ ...stepSchema, estimate: estimateSchema }).exactOptional(),
  }),
  initial: { steps: [], total: noUsage },
  on: {
    "step.started": (state, { data: { turn, step, model, estimate } }) => ({
      ...state,
      running: { turn, step, model, estimate },
    }),
    // Told only where the attempt had said something; what comes before the next one spends nothing.
    "step.retrying": (state, { data }) =>
      data.usage === undefined ? state : ended(state, data.step, data.usage),
    "step.finished": (state, { data }) => ended(state, data.step, data.usage),
    "step.failed": (state, { data }) => ended(state, data.step, data.usage),
    "step.interrupted": (state, { data }) => ended(state, data.step, data.usage),
  },
});
