/** What approvals and output requests have in common: where they are found, and whose they are. Pure. */

import type { StepItem } from "../projections/index.ts";
import type { SessionState } from "./session-state.ts";

/** The steps of all branches of a session, newest first. */
export function* stepsNewestFirst({ history, boundaries }: SessionState): Generator<StepItem> {
  const { open } = history;
  const { items } = boundaries;
  if (open !== undefined) yield open;
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item?.kind === "step") yield item;
  }
}

/** The session that recorded an event. A fork asks again what it inherits unanswered. */
export function ownerOf(position: number, session: string, { approvals }: SessionState): string {
  return approvals.lineage.find((shared) => position <= shared.position)?.session ?? session;
}
