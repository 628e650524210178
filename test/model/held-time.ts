/**
 * Time in the test's hand. The back-off's delay (`node:timers/promises`) ends when it is told to;
 * time limits and grace periods (`setTimeout`) pass when the clock is moved on. Nothing waits.
 */

import { vi } from "vitest";

/** Milliseconds that a tool is given to end after it was told to stop. */
export const GRACE_MS = 1000;

/** Milliseconds after which an idle session is let go of. */
export const IDLE_MS = 3_000_000;

/** Milliseconds that a turn may take: more than all that passes for its tools. */
export const TURN_MS = 1_000_000;

interface Delay {
  readonly end: () => void;
}

let delays: readonly Delay[] = [];

/** Stands in for `setTimeout` of `node:timers/promises`. */
export function heldDelay<Value>(
  _milliseconds: number,
  value: Value,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Value> {
  const waited = Promise.withResolvers<Value>();
  const delay: Delay = { end: () => waited.resolve(value) };
  delays = [...delays, delay];
  const stop = (): void => {
    delays = delays.filter((one) => one !== delay);
    waited.reject(signal?.reason);
  };
  if (signal?.aborted === true) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  return waited.promise;
}

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
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  },
  release(): void {
    delays = [];
    vi.useRealTimers();
  },
  pass(milliseconds: number): void {
    vi.advanceTimersByTime(milliseconds);
  },
};
