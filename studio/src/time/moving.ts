/** Moves through the time of the session that is open, for keys and buttons alike. */

import type { SessionFeed } from "../data/session-feed.ts";
import { indexAt } from "../data/rows.ts";
import { endOf } from "../data/types.ts";
import { moveIn, placeStore, type Place } from "../shell/place.ts";

let open: SessionFeed | undefined;

export function openedFeed(feed: SessionFeed | undefined): void {
  open = feed;
}

/** The log of the place's session, once all of it is here: on a part of it no move ends where it should. */
export function feedOf(place: Place): SessionFeed | undefined {
  return place.page === "session" && open?.id === place.session && open.isWhole ? open : undefined;
}

export function moveBy(by: 1 | -1, unit: "row" | "step"): void {
  const { place } = placeStore.getSnapshot().context;
  const feed = feedOf(place);
  if (feed === undefined || place.page !== "session") return;
  const { rows } = feed;
  const here = indexAt(rows, place.position ?? feed.position);
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
