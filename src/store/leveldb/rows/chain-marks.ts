/**
 * Places in the chain of commits, some megabytes apart. What lies before the oldest of them is in
 * LevelDB's tables, so that opening checks the chain from there (`m/checked`); index rows count
 * everything up to each of them. Kept by the committer.
 */

import type { ChainMark } from "./commit-record.ts";

/** LevelDB holds at most two write buffers of 4 MB in its log files; what is older is in tables. */
const MARK_DISTANCE = 4 * 1024 * 1024;
/** Two of them may lie in the same write buffer as an append that is larger than the buffer. */
const MARKS_KEPT = 5;

export class ChainMarks {
  /** Oldest first; never empty. */
  readonly #marks: ChainMark[];
  #newest: ChainMark;
  #size = 0;
  #isDue: boolean;

  /** @param end - The end of the chain; all of it is in tables. `checked` is where `m/checked` stands. */
  constructor(end: ChainMark, checked: ChainMark) {
    this.#marks = [end];
    this.#newest = end;
    this.#isDue = checked.position < end.position;
  }

  /** Perhaps of a batch that is just being written. */
  get newest(): ChainMark {
    return this.#newest;
  }

  /** Whether a batch of this size takes the chain to its next mark. */
  isNext(size: number): boolean {
    return this.#size + size >= MARK_DISTANCE;
  }

  /** A batch that is no mark. */
  wrote(size: number): void {
    this.#size += size;
  }

  /** A batch that ends at a mark. */
  add(mark: ChainMark): void {
    this.#size = 0;
    this.#newest = mark;
    this.#marks.push(mark);
    if (this.#marks.length <= MARKS_KEPT) return;
    this.#marks.shift();
    this.#isDue = true;
  }

  /** Where `m/checked` is to be moved with the batch that is being made; undefined where it stays. */
  move(): ChainMark | undefined {
    if (!this.#isDue) return undefined;
    this.#isDue = false;
    return this.#marks[0];
  }
}
