/** What providers have said themselves of how much their models take: in errors, and by what they took. */

import { z } from "zod";
import { byIdSchema, type StoredError } from "../events/index.ts";
import { modelKey } from "./calibration.ts";
import { overflowOf } from "./overflow.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** What sessions have shown of the limits of models. */
export interface LearnedLimits {
  /** Context windows in tokens, by `modelKey`. */
  readonly windows: Readonly<Record<string, number>>;
  /** The largest prompt that was billed, by `modelKey`: the window is at least that. */
  readonly largest: Readonly<Record<string, number>>;
  /** The model of the step that runs. */
  readonly model?: string;
}

function refused(state: LearnedLimits, error: StoredError | undefined): LearnedLimits {
  if (state.model === undefined || error === undefined) return state;
  const contextWindow = overflowOf(error)?.contextWindow;
  if (contextWindow === undefined || contextWindow === 0) return state;
  return { ...state, windows: { ...state.windows, [state.model]: contextWindow } };
}

/** Folds what errors and bills tell of the limits of models. */
export const learnedLimits: Projection<LearnedLimits> = defineProjection<LearnedLimits>({
  name: "learned-limits",
  version: 1,
  schema: z.object({
    windows: byIdSchema(z.number().positive()),
    largest: byIdSchema(z.number().positive()),
    model: z.string().exactOptional(),
  }),
  initial: { windows: {}, largest: {} },
  on: {
    "step.started": (state, { data }) => ({ ...state, model: modelKey(data.model) }),
    "step.retrying": (state, { data }) => refused(state, data.error),
    "step.failed": (state, { data }) => refused(state, data.error),
    "context.overflowed": (state, { data }) => refused(state, data.error),
    "step.finished": (state, { data: { usage } }) => {
      const { model, largest } = state;
      if (model === undefined || usage.basis !== "measured") return state;
      if (usage.inputTokens <= (largest[model] ?? 0)) return state;
      return { ...state, largest: { ...largest, [model]: usage.inputTokens } };
    },
  },
});
