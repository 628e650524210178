/**
 * Keeps a replay in the recorded order and time: each answer from the log waits until all events before it
 * have happened again, and until it is due.
 */

import { atOnce, type ReplayPace } from "../models/index.ts";

export class ReplayPacer implements ReplayPace {
  #position = 0;
  #stopped = false;
  #waiting: { readonly position: number; readonly resume: () => void }[] = [];
  #changed = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #time: ReplayPace;
  readonly #beginOf: (position: number) => number;
  #held = 0;

  /** @param beginOf - Answers the first of the events that happen together with the one at a position. */
  constructor(
    time: ReplayPace = atOnce,
    beginOf: (position: number) => number = (position) => position,
  ) {
    this.#time = time;
    this.#beginOf = beginOf;
  }

  get position(): number {
    return this.#position;
  }

  /** Whether something waits until it is due; then no other event is expected. */
  get isHeld(): boolean {
    return this.#held > 0;
  }

  due(position: number): Promise<void> {
    return this.#time === atOnce ? this.#inOrder(position) : this.#inTime(position);
  }

  /** Waits until a position is due, but not after the replay is over. */
  async moment(position: number): Promise<void> {
    this.#held += 1;
    try {
      await Promise.race([this.#time.due(position), this.#ended.promise]);
    } finally {
      this.#held -= 1;
    }
  }

  async #inTime(position: number): Promise<void> {
    await this.#inOrder(position);
    await this.moment(position);
    if (this.#stopped) await new Promise<never>(() => {});
  }

  #inOrder(last: number): Promise<void> {
    const position = this.#beginOf(last);
    if (position <= this.#position + 1 && !this.#stopped) return Promise.resolve();
    return new Promise((resume) => this.#waiting.push({ position, resume }));
  }

  advance(position: number): void {
    this.#position = position;
    this.#notify();
    if (this.#stopped) return;
    const due = this.#waiting.filter((one) => one.position <= position + 1);
    this.#waiting = this.#waiting.filter((one) => one.position > position + 1);
    for (const { resume } of due) resume();
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
