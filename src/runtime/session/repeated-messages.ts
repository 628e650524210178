/** The messages that a branch runs again. Those that still wait when it is left are withdrawn. Pure. */

import type { EventBody } from "../../events/index.ts";
import { allWaiting } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";

/** The waiting messages that were delivered before, on some branch. */
export function repeatedMessages({ queue, boundaries }: SessionState): readonly string[] {
  const waiting = allWaiting(queue).map(({ id }) => id);
  return waiting.filter((id) =>
    boundaries.items.some((item) => item.kind === "user" && item.id === id),
  );
}

/** A message that waits again belongs to the branch that is left. */
export function withdrawal(ids: readonly string[]): EventBody<"message.withdrawn"> {
  return { type: "message.withdrawn", data: { ids, reason: "its branch was left" } };
}
