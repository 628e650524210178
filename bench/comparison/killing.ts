/** When a session is killed: in the middle of what its model says, by SIGKILL, and how fast it was speaking. */

import { setTimeout } from "node:timers/promises";
import type { Pace } from "./script.ts";

/** Steps and deltas from 0 on: four whole steps are over, and so many deltas of the fifth are out. */
export const KILLED_IN: { readonly steps: number; readonly step: number; readonly delta: number } =
  {
    steps: 6,
    step: 4,
    delta: 150,
  };

const BETWEEN_DELTAS_MS = 1;
const SILENCE_MS = 1000;

/** Goes before each delta. */
export function killer(pace: Pace): (step: number, delta: number) => Promise<void> {
  return async (step, delta) => {
    const isOver = step === KILLED_IN.step && delta === KILLED_IN.delta;
    if (isOver && pace === "silent") await setTimeout(SILENCE_MS);
    if (isOver) process.kill(process.pid, "SIGKILL");
    if (pace !== "burst") await setTimeout(BETWEEN_DELTAS_MS);
  };
}
