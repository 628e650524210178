/** Everything that is wrong with a session's log by the laws of DESIGN, in words. Empty is right. */

import type { SessionEvent } from "../../src/events/index.ts";
import { callProblems } from "./call-problems.ts";
import { compactionProblems } from "./compaction-problems.ts";
import { figureProblems } from "./figure-problems.ts";
import { messageProblems } from "./message-problems.ts";
import { orderProblems } from "./order-problems.ts";
import { promptLawProblems } from "./prompt-law-problems.ts";
import { replay } from "./replay.ts";

export interface LawOptions {
  /** Whether calls may still be open: true of a log that was cut off and not recovered. */
  readonly cutOff?: boolean;
}

/** Laws 4, 5, 6, 7, 8, 11 and the order of turns and steps. */
export function lawProblems(
  events: readonly SessionEvent[],
  { cutOff = false }: LawOptions = {},
): readonly string[] {
  const replayed = replay(events);
  return [
    ...orderProblems(replayed),
    ...promptLawProblems(replayed),
    ...messageProblems(replayed),
    ...callProblems(replayed, { cutOff }),
    ...figureProblems(replayed),
    ...compactionProblems(replayed),
  ];
}
