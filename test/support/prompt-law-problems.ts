/**
 * Law 4 and law 11. The prompt of every step that was begun breaks no rule at all and has the
 * digest that the log says. At any other position no prompt is sent, so only one thing may be
 * missing there: that input comes last. A new message, or the next tool result, brings it.
 */

import type { SessionEvent } from "../../src/events/index.ts";
import { promptDigest, promptMessages } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/runtime/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { stateAt, type Replay } from "./replay.ts";

/** Deltas only lengthen a block: one of so many is looked at. */
const DELTA_SAMPLE = 7;

export function promptLawProblems(replayed: Replay): readonly string[] {
  return replayed.events.flatMap((event) => {
    const before = stateAt(replayed, event.seq - 1);
    if (event.type === "step.started") return sentProblems(event, before);
    if (event.type.endsWith("-delta") && event.seq % DELTA_SAMPLE !== 0) return [];
    return positionProblems(stateAt(replayed, event.seq));
  });
}

/** What is wrong with the prompt at a position at which none is sent. */
function positionProblems({ position, history, view }: SessionState): readonly string[] {
  return promptProblems(promptMessages(history, view))
    .filter(({ rule }) => rule !== "ends-with-input")
    .map(({ rule, what }) => `${position}: prompt breaks ${rule}: ${what}`);
}

function sentProblems(
  { seq, data }: SessionEvent<"step.started">,
  { history, view, summary }: SessionState,
): readonly string[] {
  const messages = promptMessages(history, view);
  const problems = promptProblems(messages).map(
    ({ rule, what }) => `${seq}: the prompt of step ${data.step} breaks ${rule}: ${what}`,
  );
  const rebuilt = promptDigest(summary.agentDigest ?? "", messages);
  return rebuilt === data.promptDigest
    ? problems
    : [...problems, `${seq}: the prompt of step ${data.step} cannot be rebuilt: ${rebuilt}`];
}
