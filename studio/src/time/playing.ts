/** Plays a session again: its position moves at the recorded pace, and long waits are cut. Nothing runs. */

import { createStore } from "@xstate/store";
import { indexAt } from "../data/rows.ts";
import type { Row } from "../data/types.ts";
import { moveIn, placeStore, writeAddress } from "../shell/place.ts";
import { openFeed } from "./moving.ts";

const SHORTEST_MS = 20;
const LONGEST_MS = 500;

export const playing = createStore({
  context: { isOn: false },
  on: { turned: (_, { isOn }: { readonly isOn: boolean }) => ({ isOn }) },
});

let timer: ReturnType<typeof setTimeout> | undefined;

/** From the position that is seen, or from the first event at the live end. */
export function togglePlaying(): void {
  const { place } = placeStore.getSnapshot().context;
  clearTimeout(timer);
  const isOn = !playing.getSnapshot().context.isOn && place.page === "session";
  playing.trigger.turned({ isOn });
  if (!isOn) return writeAddress();
  if (place.position === undefined) moveIn({ position: 1 });
  timer = setTimeout(onwards, SHORTEST_MS);
}

function onwards(): void {
  const feed = openFeed();
  const { place } = placeStore.getSnapshot().context;
  const position = place.page === "session" ? place.position : undefined;
  const isOn = feed !== undefined && position !== undefined && position < feed.position;
  if (!isOn) {
    playing.trigger.turned({ isOn });
    if (position !== undefined) moveIn({ position: undefined });
    return;
  }
  const wait = timeAt(feed.rows, position + 1) - timeAt(feed.rows, position);
  timer = setTimeout(onwards, Math.min(LONGEST_MS, Math.max(SHORTEST_MS, wait)));
  moveIn({ position: position + 1 });
}

/** Of a delta within a row, as if they had come evenly. */
function timeAt(rows: readonly Row[], position: number): number {
  const row = rows[indexAt(rows, position)];
  if (row === undefined) return 0;
  const { event, last } = row;
  if (last === undefined) return event.time;
  const share = (position - event.position) / (last.position - event.position);
  return event.time + (last.time - event.time) * Math.min(1, share);
}
