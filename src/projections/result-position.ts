/**
 * Where the result of a call stands in the log. It is no part of the history, which says what was
 * answered and not where: whoever stores a history need not store a long result a second time.
 */

import { sendableOutput, type SessionEvent } from "../events/index.ts";
import type { CallOutcome } from "./history-item.ts";

const positions = new WeakMap<CallOutcome, number>();

/** The outcome that a result makes; knows from then on where it stands. */
export function succeeded({
  position,
  data,
}: Pick<SessionEvent<"tool.succeeded">, "position" | "data">): CallOutcome {
  const { output, modelOutput } = data;
  const outcome: CallOutcome =
    modelOutput === undefined
      ? { status: "succeeded", output }
      : { status: "succeeded", output, modelOutput: sendableOutput(modelOutput) };
  positions.set(outcome, position);
  return outcome;
}

/** The position of the event that an outcome was made of; undefined where it was made of something else. */
export function resultPosition(outcome: CallOutcome): number | undefined {
  return positions.get(outcome);
}
