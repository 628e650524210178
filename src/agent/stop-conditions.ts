/** The conditions under which a turn ends before the model has concluded. */

import type { StepResult, ToolSet } from "ai";
import type { z } from "zod";
import { thing } from "../validation/index.ts";
import { awaited } from "./user-callbacks.ts";

interface StopConditions {
  /** A method, so that conditions over the types of certain tools fit too. */
  isMet(options: { readonly steps: Array<StepResult<ToolSet>> }): boolean | PromiseLike<boolean>;
}

/** A `StopCondition` of the AI SDK, for instance `hasToolCall("finish")`, or your own function. */
type StopCondition = StopConditions["isMet"];

/** The setting: one condition, or a list. The turn ends when any of them is met. */
export type StopWhen = StopCondition | readonly StopCondition[];

export const stopWhenSchema: z.ZodType = thing(
  "a stop condition, as `isStepCount(10)` of the AI SDK, or a list of them",
  (value) => [value].flat().every((condition) => typeof condition === "function"),
);

/** The index of the first condition that is met. @throws TurnlogError `CALLBACK_FAILED` if one of them throws */
export async function metCondition(
  stopWhen: StopWhen,
  steps: Array<StepResult<ToolSet>>,
): Promise<number | undefined> {
  const conditions = [stopWhen].flat();
  const answers = await awaited("stopWhen", () =>
    Promise.all(conditions.map(async (condition) => await condition({ steps }))),
  );
  const first = answers.findIndex(Boolean);
  return first === -1 ? undefined : first;
}
