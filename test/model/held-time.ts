/**
 * Time in the test's hand. The back-off's delay ends when it is told to; time limits and
 * grace periods (`setTimeout`) pass when the clock is moved on. Nothing waits.
 */

import { vi } from "vitest";
import type { Timer } from "../../src/shared/index.ts";
import { systemTimer } from "../../src/shared/index.ts";

/** Milliseconds that a tool is given to end after it was told to stop. */
export const GRACE_MS = 1000;

/** Milliseconds after which an idle session is let go of. */
export const IDLE_MS = 3_000_000;

/** Milliseconds that a turn may take: more than all that passes for its tools. */
export const TURN_MS = 1_000_000;

/** Milliseconds until a message for later is due, where a test waits for it: less than any other wait. */
export const SOON_MS = 20;

/** A time that no test reaches. */
export const FAR = new Date(2 ** 42);

interface Delay {
  readonly end: () => void;
}

let delays: readonly Delay[] = [];

/** Holds the back-off; all other waits are `setTimeout`'s, which is in the test's hand too. */
export const heldTimer: Timer = (milliseconds, due, wait) => {
  if (wait.kind !== "retry") return systemTimer(milliseconds, due, wait);
  const delay: Delay = { end: due };
  delays = [...delays, delay];
  return {
    [Symbol.dispose]: () => {
      delays = delays.filter((one) => one !== delay);
    },
  };
};

export const time = {
  /** Whether a back-off waits. */
  get isBackingOff(): boolean {
    return delays.length > 0;
  },
  endBackOff(): void {
    const [delay, ...rest] = delays;
    if (delay === undefined) throw new Error("No back-off waits.");
    delays = rest;
    delay.end();
  },
  /** Forgets the delays of a process that has died: they never end. */
  forget(): void {
    delays = [];
  },
  hold(): void {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  },
  release(): void {
    delays = [];
    vi.useRealTimers();
  },
  pass(milliseconds: number): void {
    vi.advanceTimersByTime(milliseconds);
  },
};
