/** Turns and steps are numbered without a gap, and do not overlap. */

import type { SessionEvent } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";

export function orderCheck(): Check {
  let turn = { number: 0, open: false };
  let step = { number: 0, attempt: 0, open: false };
  /** The last attempt was refused as too long: its step may still fail. */
  let overflowed = false;

  function onStepStart({ data }: SessionEvent<"step.started">): readonly string[] {
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

  function onStepEnd(
    event: SessionEvent<"step.retrying" | "step.finished" | "step.failed" | "step.interrupted">,
  ): readonly string[] {
    const was = step;
    const mayFail = overflowed;
    step = { ...step, open: false };
    overflowed = false;
    if (event.data.step !== was.number) return [`step ${was.number} is the one that runs`];
    // An interruption may end a step while it waits for its next attempt.
    return was.open || mayFail || event.type === "step.interrupted" ? noFaults : ["it had ended"];
  }

  function onOverflow({ data }: SessionEvent<"context.overflowed">): readonly string[] {
    const was = step;
    step = { ...step, open: false };
    overflowed = true;
    return was.open && data.step === was.number ? noFaults : [`step ${was.number} is the one`];
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
        return onStepStart(event);
      case "context.overflowed":
        return onOverflow(event);
      case "context.reduced":
        return step.open && event.data.step === step.number
          ? noFaults
          : [`step ${step.number} is the one that runs`];
      case "step.retrying":
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        return onStepEnd(event);
      case "message.delivered":
        return turn.open && event.data.turn === turn.number ? noFaults : ["there is no such turn"];
      default:
        return event.type.startsWith("part.") && !step.open ? ["no step is running"] : noFaults;
    }
  }

  return {
    rule: "order",
    onEvent: (event) => {
      const found = faults(event);
      return found.length === 0 ? found : found.map((what) => `${event.type}: ${what}`);
    },
    onEnd: () => noFaults,
  };
}
