/** Moves through the time of the session that is open, for keys and buttons alike. */

import type { SessionFeed } from "../data/session-feed.ts";
import { indexAt } from "../data/rows.ts";
import { endOf } from "../data/types.ts";
import { moveIn, placeStore } from "../shell/place.ts";

let open: SessionFeed | undefined;

export function openedFeed(feed: SessionFeed | undefined): void {
  open = feed;
}

export function openFeed(): SessionFeed | undefined {
  return open;
}

export function moveBy(by: 1 | -1, unit: "row" | "step"): void {
  const { place } = placeStore.getSnapshot().context;
  if (open === undefined || place.page !== "session") return;
  const { rows } = open;
  const here = indexAt(rows, place.position ?? open.position);
  const isStep = (at: number): boolean => rows[at]?.event.type === "step.started";
  let index = here + by;
  if (unit === "step") while (rows[index] !== undefined && !isStep(index)) index += by;
  const row = rows[index];
  if (row !== undefined) moveIn({ position: endOf(row) });
  else if (by === 1) moveIn({ position: undefined });
}

export function moveToEdge(edge: "first" | "live"): void {
  moveIn({ position: edge === "first" ? 1 : undefined });
}
