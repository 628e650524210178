/** Which events are deltas: what a model says piece by piece. Nearly all of a log is made of them. */

import type { NewEvent } from "./catalogue.ts";

export type DeltaType = "part.text-delta" | "part.reasoning-delta" | "part.tool-input-delta";

/** Whether an event is a piece of what a model says. */
export function isDelta<Event extends NewEvent>(
  event: Event,
): event is Extract<Event, { readonly type: DeltaType }> {
  const { type } = event;
  return (
    type === "part.text-delta" ||
    type === "part.reasoning-delta" ||
    type === "part.tool-input-delta"
  );
}
