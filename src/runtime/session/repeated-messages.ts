/**
 * The messages that a branch runs again, or in place of another. Those that still wait when it is left are
 * withdrawn; its first turn is about no others. Pure.
 */

import type { EventBody } from "../../events/index.ts";
import { allWaiting, type QueuedMessage } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";

/** What becomes of the messages that wait when a branch is left. The others keep waiting. */
export function leavingBranch({ queue, boundaries }: SessionState): readonly EventBody[] {
  const ids: string[] = [];
  const rescheduled: EventBody[] = [];
  for (const { id, delivery, notBefore } of allWaiting(queue)) {
    // One that was delivered before, on some branch, is to run again on this one only.
    if (boundaries.items.some((item) => item.kind === "user" && item.id === id)) ids.push(id);
    // One that was to steer a turn of this branch waits for a turn of its own.
    else if (delivery === "steer" && notBefore === undefined)
      rescheduled.push({ type: "message.rescheduled", data: { id, delivery: "follow-up" } });
  }
  if (ids.length === 0) return rescheduled;
  const data = { ids, reason: "its branch was left" };
  return [{ type: "message.withdrawn", data }, ...rescheduled];
}

/**
 * The messages that the next turn begins with: all that wait. The first turn after an edit or a regeneration has
 * its own alone, since the others were sent after the reply that it replaces.
 */
export function nextMessages({ queue, branches, history }: SessionState): readonly QueuedMessage[] {
  const { waiting } = queue;
  const { all, switches } = branches;
  const active = all.find(({ id }) => id === switches.at(-1)?.branch);
  const { id: from = 0, again = [], edit } = active ?? {};
  const ids = new Set([...again, ...(edit === undefined ? [] : [edit.by])]);
  if (ids.size === 0) return waiting;
  const since = history.items.filter(({ position }) => position > from);
  if (since.some(({ kind }) => kind === "turn-end")) return waiting;
  const own = waiting.filter(({ id }) => ids.has(id));
  const hasBegun = since.some((item) => item.kind === "user" && ids.has(item.id));
  return own.length > 0 || hasBegun ? own : waiting;
}
