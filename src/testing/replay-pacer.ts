/**
 * Keeps a replay in the order of the recording: whatever is answered from the log waits until all
 * that was recorded before it has happened again.
 */

import type { ReplayPace } from "../models/index.ts";

export class ReplayPacer implements ReplayPace {
  #position = 0;
  #stopped = false;
  #waiting: { readonly position: number; readonly resume: () => void }[] = [];
  #changed = Promise.withResolvers<void>();

  /** How many events have happened again. */
  get position(): number {
    return this.#position;
  }

  due(position: number): Promise<void> {
    if (position <= this.#position + 1 && !this.#stopped) return Promise.resolve();
    return new Promise((resume) => this.#waiting.push({ position, resume }));
  }

  advance(position: number): void {
    this.#position = position;
    this.#tell();
    if (this.#stopped) return;
    const due = this.#waiting.filter((one) => one.position <= position + 1);
    this.#waiting = this.#waiting.filter((one) => one.position > position + 1);
    for (const { resume } of due) resume();
  }

  /** From now on nothing of the replay happens any more. */
  stop(): void {
    this.#stopped = true;
    this.#tell();
  }

  /** Resolves when it advances or stops, or when that takes longer than so many milliseconds. */
  async moved(patienceMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, patienceMs);
    try {
      await Promise.race([this.#changed.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
