/** How large a prompt was when it was counted: what a later estimate may build on, and what keeps it from being asked for twice. */

import { z } from "zod";
import { modelNameSchema, type ModelName } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** The prompt as it stood at a position, counted. */
export interface PromptCount {
  /** The position of its `context.counted`. */
  readonly position: number;
  readonly model: ModelName;
  readonly tokens: number;
  /** The turn in which it was, and the last step before it; 0 for none. */
  readonly turn: number;
  readonly step: number;
}

/** What providers counted of the next prompt before it is sent. */
export interface PromptCounts {
  /** The turn and the step that were started last; 0 before. */
  readonly turn: number;
  readonly step: number;
  /** Whether somebody was asked since the last step ended, with whatever success. */
  readonly asked: boolean;
  /** The last one; absent once the agent is another. */
  readonly last?: PromptCount;
}

function ended(state: PromptCounts): PromptCounts {
  return state.asked ? { ...state, asked: false } : state;
}

/** Instructions and tools are in the count: another agent's prompt is another one. */
function otherAgent({ last: _, ...rest }: PromptCounts): PromptCounts {
  return rest;
}

const number = z.int().nonnegative();

/** Folds what providers counted. */
export const promptCounts: Projection<PromptCounts> = defineProjection<PromptCounts>({
  name: "prompt-counts",
  version: 1,
  schema: z.object({
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
    "session.configured": otherAgent,
    "session.forked": (state, { data: { agent } }) =>
      agent === undefined ? state : otherAgent(state),
  },
});
