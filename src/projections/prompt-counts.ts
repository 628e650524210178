/** The last counted prompt: later estimates build on it, and one step requests at most one count. */

import { z } from "zod";
import { modelNameSchema, type ModelName } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface PromptCount {
  /** The position of its `context.counted`. */
  readonly position: number;
  readonly model: ModelName;
  readonly tokens: number;
  readonly turn: number;
  readonly step: number;
}

export interface PromptCounts {
  /** The last turn and step; 0 before the first. */
  readonly turn: number;
  readonly step: number;
  /** Whether a count was requested since the last step ended, even if it failed. */
  readonly asked: boolean;
  /** The last count; absent after the agent changed. */
  readonly last?: PromptCount;
}

function ended(state: PromptCounts): PromptCounts {
  return state.asked ? { ...state, asked: false } : state;
}

/** A count includes instructions and tools, so it does not hold for another agent. */
export function withoutCount({ last: _, ...rest }: PromptCounts): PromptCounts {
  return rest;
}

const number = z.int().nonnegative();

export const promptCounts: Projection<PromptCounts> = defineProjection<PromptCounts>({
  name: "prompt-counts",
  version: 1,
  follows: "branch",
  schema: z.lazy(() =>
    z.object({
      turn: number,
      step: number,
      asked: z.boolean(),
      last: z
        .object({
          position: number,
          model: modelNameSchema,
          tokens: z.number().nonnegative(),
          turn: number,
          step: number,
        })
        .exactOptional(),
    }),
  ),
  initial: { turn: 0, step: 0, asked: false },
  on: {
    "turn.started": (state, { data: { turn } }) => ended({ ...state, turn }),
    "step.started": (state, { data: { step } }) => ({ ...state, step }),
    "step.finished": ended,
    "step.failed": ended,
    "step.interrupted": ended,
    "context.counted": ({ turn, step }, { position, data: { model, tokens } }) => ({
      turn,
      step,
      asked: true,
      last: { position, model, tokens, turn, step },
    }),
    "context.count-failed": (state) => ({ ...state, asked: true }),
    "session.configured": withoutCount,
    "session.forked": (state, { data: { agent } }) =>
      agent === undefined ? state : withoutCount(state),
  },
});
