/** Turns and steps are numbered without a gap, and none begins inside another. */

import type { Replay } from "./replay.ts";

export function orderProblems({ events }: Replay): readonly string[] {
  const problems: string[] = [];
  let turn = { number: 0, open: false };
  /** Whether the step that has no attempt running was refused as too long: it may still fail. */
  let overflowed = false;
  let step = { number: 0, attempt: 0, open: false };
  for (const event of events) {
    const say = (what: string): void => {
      problems.push(`${event.seq} ${event.type}: ${what}`);
    };
    switch (event.type) {
      case "turn.started":
        if (turn.open) say(`turn ${turn.number} has not ended`);
        if (event.data.turn !== turn.number + 1)
          say(`turn ${event.data.turn} after ${turn.number}`);
        turn = { number: event.data.turn, open: true };
        break;
      case "turn.ended":
        if (!turn.open || event.data.turn !== turn.number) say("it had not begun");
        if (step.open) say(`step ${step.number} has not ended`);
        turn = { ...turn, open: false };
        break;
      case "step.started": {
        const { step: number, attempt } = event.data;
        if (!turn.open || event.data.turn !== turn.number) say("it belongs to no running turn");
        if (step.open) say(`step ${step.number} has not ended`);
        const next = attempt === 1 ? step.number + 1 : step.number;
        if (number !== next) say(`step ${number}, attempt ${attempt}, after step ${step.number}`);
        if (attempt > 1 && attempt !== step.attempt + 1)
          say(`attempt ${attempt} after ${step.attempt}`);
        step = { number, attempt, open: true };
        overflowed = false;
        break;
      }
      case "context.overflowed":
        if (event.data.step !== step.number || !step.open) say(`step ${step.number} is the one`);
        step = { ...step, open: false };
        overflowed = true;
        break;
      case "step.retrying":
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        // An interruption may end a step while it waits for its next attempt.
        if (event.data.step !== step.number) say(`step ${step.number} is the one that runs`);
        else if (!step.open && event.type !== "step.interrupted" && !overflowed)
          say("it had ended");
        overflowed = false;
        step = { ...step, open: false };
        break;
      case "message.delivered":
        if (!turn.open || event.data.turn !== turn.number) say("there is no such turn");
        break;
      default:
        if (event.type.startsWith("part.") && !step.open) say("no step is running");
    }
  }
  return problems;
}
