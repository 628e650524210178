/**
 * How far a replay has come in its recording. An answer from the log waits until all events before it have
 * happened again, and until it is due. Events of parallel calls may come in another order.
 */

import type { NewEvent, SessionEvent } from "../events/index.ts";
import { atOnce, type ReplayPace } from "../models/index.ts";
import { beginOf } from "./recorded-endings.ts";

export class RecordedOrder implements ReplayPace {
  #position = 0;
  /** Positions of events that happened before an earlier one. */
  readonly #ahead = new Set<number>();
  #stopped = false;
  #waiting: { readonly isDue: () => boolean; readonly resume: () => void }[] = [];
  #changed = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #time: ReplayPace;
  readonly #events: readonly SessionEvent[];
  #held = 0;

  /** @param events - All that were recorded. */
  constructor(events: readonly SessionEvent[], time: ReplayPace = atOnce) {
    this.#events = events;
    this.#time = time;
  }

  get position(): number {
    return this.#position;
  }

  /** Whether something waits until it is due; then no other event is expected. */
  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** @param callId - Of the call that ends there: it waits for no call of its step. */
  due(position: number, callId?: string): Promise<void> {
    return this.#time === atOnce ? this.#inOrder(position, callId) : this.#inTime(position, callId);
  }

  /** A wait until a position is due in time, but not after the replay is over. Undefined: no time passes. */
  moment(position: number): Promise<void> | undefined {
    return this.#time === atOnce ? undefined : this.#moment(position);
  }

  async #moment(position: number): Promise<void> {
    this.#held += 1;
    try {
      await Promise.race([this.#time.due(position), this.#ended.promise]);
    } finally {
      this.#held -= 1;
    }
  }

  async #inTime(position: number, callId: string | undefined): Promise<void> {
    await this.#inOrder(position, callId);
    await this.moment(position);
    if (this.#stopped) await new Promise<never>(() => {});
  }

  #inOrder(position: number, callId: string | undefined): Promise<void> {
    const isDue = (): boolean => this.#isDue(position, callId);
    if (isDue() && !this.#stopped) return Promise.resolve();
    return new Promise((resume) => this.#waiting.push({ isDue, resume }));
  }

  #isDue(position: number, callId: string | undefined): boolean {
    const begin = beginOf(position, this.#events);
    for (let before = this.#position + 1; before < begin; before++) {
      const skipped = this.#events[before - 1];
      const isFree =
        this.#ahead.has(before) || (callId !== undefined && skipped && isOfOther(skipped, callId));
      if (!isFree) return false;
    }
    return true;
  }

  /** The recorded event at a position has happened. */
  happened(position: number): void {
    this.#ahead.add(position);
    let last = this.#position;
    while (this.#ahead.delete(last + 1)) last += 1;
    this.advance(last);
  }

  hasHappened(position: number): boolean {
    return position <= this.#position || this.#ahead.has(position);
  }

  /** Everything up to a position has happened. */
  advance(position: number): void {
    this.#position = position;
    this.#notify();
    if (this.#stopped) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      if (one.isDue()) one.resume();
      else this.#waiting.push(one);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#ended.resolve();
    this.#notify();
  }

  /** Resolves when the replay advances or stops, or after the given milliseconds. */
  async moved(patienceMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, patienceMs);
    try {
      await Promise.race([this.#changed.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

// Which events have no order: those of calls that run in parallel. Pure.

/** A call, or a blob of its result. */
export function callOf({ data }: NewEvent): unknown {
  return "callId" in data ? data["callId"] : "sha256" in data ? data["sha256"] : undefined;
}

/** Whether the order of two events means nothing: they are of two calls. */
export function isParallel(skipped: NewEvent, event: NewEvent): boolean {
  return isOfCall(event) && isOfOther(skipped, callOf(event));
}

function isOfOther(event: NewEvent, call: unknown): boolean {
  return isOfCall(event) && callOf(event) !== call;
}

function isOfCall({ type }: NewEvent): boolean {
  return type.startsWith("tool.") || type === "blob.stored";
}
