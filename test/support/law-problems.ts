/** Everything that is wrong with a session's log by the laws of DESIGN, in words. Empty is right. */

import type { SessionEvent } from "../../src/events/index.ts";
import { Inspection } from "../../src/archive/verify/index.ts";
import { openCallProblems } from "./call-problems.ts";
import { compactionProblems } from "./compaction-problems.ts";
import { promptRuleProblems } from "./prompt-rule-problems.ts";
import type { Replay } from "./replay.ts";

export interface LawOptions {
  /** Whether calls may still be open: true of a log that was cut off and not recovered. */
  readonly cutOff?: boolean;
  /** The prompts up to this position were looked at before. */
  readonly after?: number;
}

/** What `turnlog verify` would say of the events: laws 5, 6, 7, 11 and the order of turns and steps. */
export function inspectionProblems(events: readonly SessionEvent[]): readonly string[] {
  return inspected(events).problems;
}

/** The inspection folds the events: what it finds, and the states that it was in. */
function inspected(events: readonly SessionEvent[]): {
  readonly problems: readonly string[];
  readonly replayed: Replay;
} {
  const inspection = new Inspection();
  const states = [inspection.state];
  const found = events.flatMap((event) => {
    const findings = inspection.check(event);
    states.push(inspection.state);
    return findings;
  });
  return {
    problems: [...found, ...inspection.end()].map(
      ({ position, rule, what }) => `${position} ${rule}: ${what}`,
    ),
    replayed: { events, states, last: inspection.state },
  };
}

/** Those, and laws 4 and 8. */
export function lawProblems(
  events: readonly SessionEvent[],
  { cutOff = false, after }: LawOptions = {},
): readonly string[] {
  const { problems, replayed } = inspected(events);
  return [
    ...problems,
    ...promptRuleProblems(replayed, after),
    ...compactionProblems(replayed),
    ...(cutOff ? [] : openCallProblems(events)),
  ];
}
