/**
 * Gives the event loop its turns. All sessions of a thread share it: a model that has many parts ready takes
 * no turn by itself, and a hundred such sessions would keep the log from writing for seconds.
 */

import { setImmediate } from "node:timers/promises";

/**
 * Parts that all sessions together may record before the event loop gets a turn: some ten milliseconds. Fewer
 * would make a row and a batch of every few deltas.
 */
const PARTS_PER_TURN = 1024;

let parts = 0;
let turn: Promise<void> | undefined;

/** Counts a part. Answers a wait, if the event loop must turn first. */
export function loopPace(): Promise<void> | undefined {
  parts += 1;
  if (parts < PARTS_PER_TURN) return undefined;
  turn ??= setImmediate().then(loopTurned);
  return turn;
}

/** The event loop has turned since the last part. */
export function loopTurned(): void {
  parts = 0;
  turn = undefined;
}
