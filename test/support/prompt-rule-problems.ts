/**
 * Law 4. The prompt of every step that was begun breaks no rule at all. At any other position no
 * prompt is sent, so only one thing may be missing there: that input comes last. A new message, or
 * the next tool result, brings it.
 */

import { withCallIds } from "./call-ids.ts";
import { promptMessages } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { stateAt, type Replay } from "./replay.ts";
import { lot, stepOf } from "./runs.ts";

/** Deltas only lengthen a block: one of so many is looked at. */
const DELTA_SAMPLE = 7;

/** As many positions of a long session as of one with so many events. */
const LONG = 200;

/** `after`: the prompts up to this position are not looked at. */
export function promptRuleProblems(replayed: Replay, after = 0): readonly string[] {
  const step = stepOf(Math.ceil(replayed.events.length / LONG));
  return replayed.events.slice(after).flatMap((event) => {
    if (event.type === "step.started") return sentProblems(stateAt(replayed, event.position - 1));
    const share = event.type.endsWith("-delta") ? DELTA_SAMPLE * step : step;
    if (event.position % share !== lot % share) return [];
    return positionProblems(stateAt(replayed, event.position));
  });
}

/** What is wrong with the prompt at a position at which none is sent. */
function positionProblems(state: SessionState): readonly string[] {
  return problemsOf(state).flatMap(({ rule, words }) =>
    rule === "ends-with-input" ? [] : [words],
  );
}

function sentProblems(state: SessionState): readonly string[] {
  return problemsOf(state).map(({ words }) => words);
}

function problemsOf({ position, history, view }: SessionState) {
  // As they are sent: a log may have a call id twice.
  const sent = withCallIds(promptMessages(history, view), undefined);
  return promptProblems(sent).map(({ rule, what }) => ({
    rule,
    words: `${position}: prompt breaks ${rule}: ${what}`,
  }));
}
