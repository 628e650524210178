/** Plays a session again: its position moves at the recorded pace, and long waits are cut. Nothing runs. */

import { createStore } from "@xstate/store";
import { indexAt } from "../data/rows.ts";
import type { Row } from "../data/types.ts";
import { moveIn, placeStore, writeAddress } from "../shell/place.ts";
import { feedOf } from "./moving.ts";

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
  if (playing.getSnapshot().context.isOn || place.page !== "session") return stop();
  playing.trigger.turned({ isOn: true });
  if (place.position === undefined) moveIn({ position: 1 });
  const { session } = place;
  timer = setTimeout(() => onwards(session), SHORTEST_MS);
}

function stop(): void {
  clearTimeout(timer);
  playing.trigger.turned({ isOn: false });
  writeAddress();
}

/** @param session - The one that plays: in another session, and at the live end, a person has gone on by themselves. */
function onwards(session: string): void {
  const { place } = placeStore.getSnapshot().context;
  if (place.page !== "session" || place.session !== session || place.position === undefined)
    return stop();
  const feed = feedOf(place);
  const { position } = place;
  const next = (ms: number): void => {
    timer = setTimeout(() => onwards(session), Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms)));
  };
  if (feed === undefined) return next(LONGEST_MS);
  if (position >= feed.position) {
    moveIn({ position: undefined });
    return stop();
  }
  next(timeAt(feed.rows, position + 1) - timeAt(feed.rows, position));
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
