/**
 * Yields to the event loop, which all sessions of a thread share. A model that has many parts ready never yields, and
 * a hundred such sessions, or sessions that all begin a step at once, would hold everything else up for seconds. The
 * writer asks before each part, the step boundary before each step.
 */

import { setImmediate } from "node:timers";
import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Parts that all sessions together may record before the event loop gets a turn: some ten milliseconds. Fewer
 * would make a row and a batch of every few deltas.
 */
const PARTS_PER_TURN = 1024;
/** Making the prompt of a step and calling its model takes about as long as recording so many parts: four begin in a turn. */
const PARTS_PER_STEP = 256;

let parts = 0;
let turn: Promise<void> | undefined;
let isCounting = false;

/** Counts work, in parts. Returns a wait, if the event loop must turn first. */
export function loopPace(work: number): Promise<void> | undefined {
  parts += work;
  if (!isCounting) {
    isCounting = true;
    setImmediate(loopTurned);
  }
  if (parts < PARTS_PER_TURN) return undefined;
  turn ??= nextTurn().then(loopTurned);
  return turn;
}

function loopTurned(): void {
  parts = 0;
  turn = undefined;
  isCounting = false;
}

/** Called before a step begins. Resolves when there is time for it, in the order of the calls; undefined if there is now. */
export function stepPace(): Promise<void> | undefined {
  return loopPace(PARTS_PER_STEP) && untilTurn();
}

async function untilTurn(): Promise<void> {
  do await turn;
  while (loopPace(PARTS_PER_STEP) !== undefined);
}
