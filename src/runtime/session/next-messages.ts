/** The messages that the next turn begins with. Pure. */

import type { QueuedMessage } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";

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
