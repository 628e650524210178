/** Turns and steps are numbered without a gap, and none begins inside another. */

import type { SessionEvent } from "../../events/index.ts";
import { nothing, type Check } from "./check.ts";

export function orderCheck(): Check {
  let turn = { number: 0, open: false };
  let step = { number: 0, attempt: 0, open: false };
  /** Whether the step that has no attempt running was refused as too long: it may still fail. */
  let overflowed = false;

  function stepStarted({ data }: SessionEvent<"step.started">): readonly string[] {
    const { step: number, attempt } = data;
    const next = attempt === 1 ? step.number + 1 : step.number;
    const problems = [
      ...(turn.open && data.turn === turn.number ? [] : ["it belongs to no running turn"]),
      ...(step.open ? [`step ${step.number} has not ended`] : []),
      ...(number === next ? [] : [`step ${number}, attempt ${attempt}, after step ${step.number}`]),
      ...(attempt > 1 && attempt !== step.attempt + 1
        ? [`attempt ${attempt} after ${step.attempt}`]
        : []),
    ];
    step = { number, attempt, open: true };
    overflowed = false;
    return problems;
  }

  function stepEnded(
    event: SessionEvent<"step.retrying" | "step.finished" | "step.failed" | "step.interrupted">,
  ): readonly string[] {
    const was = step;
    const mayFail = overflowed;
    step = { ...step, open: false };
    overflowed = false;
    if (event.data.step !== was.number) return [`step ${was.number} is the one that runs`];
    // An interruption may end a step while it waits for its next attempt.
    return was.open || mayFail || event.type === "step.interrupted" ? nothing : ["it had ended"];
  }

  function refusedAsTooLong({ data }: SessionEvent<"context.overflowed">): readonly string[] {
    const was = step;
    step = { ...step, open: false };
    overflowed = true;
    return was.open && data.step === was.number ? nothing : [`step ${was.number} is the one`];
  }

  function faults(event: SessionEvent): readonly string[] {
    switch (event.type) {
      case "turn.started": {
        const was = turn;
        turn = { number: event.data.turn, open: true };
        return [
          ...(was.open ? [`turn ${was.number} has not ended`] : []),
          ...(turn.number === was.number + 1 ? [] : [`turn ${turn.number} after ${was.number}`]),
        ];
      }
      case "turn.ended": {
        const was = turn;
        turn = { ...turn, open: false };
        return [
          ...(was.open && event.data.turn === was.number ? [] : ["it had not begun"]),
          ...(step.open ? [`step ${step.number} has not ended`] : []),
        ];
      }
      case "step.started":
        return stepStarted(event);
      case "context.overflowed":
        return refusedAsTooLong(event);
      case "step.retrying":
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        return stepEnded(event);
      case "message.delivered":
        return turn.open && event.data.turn === turn.number ? nothing : ["there is no such turn"];
      default:
        return event.type.startsWith("part.") && !step.open ? ["no step is running"] : nothing;
    }
  }

  return {
    rule: "order",
    see: (event) => {
      const found = faults(event);
      return found.length === 0 ? found : found.map((what) => `${event.type}: ${what}`);
    },
    end: () => nothing,
  };
}
