/**
 * Marks in the chain of commits, some megabytes apart. Everything before the oldest one is in LevelDB's tables,
 * so opening checks the chain only from there (`m/checked`). Index rows are complete up to each mark.
 */

import type { ChainMark } from "./commit-record.ts";

/** LevelDB keeps at most two write buffers of 4 MB in its log files; older rows are in tables. */
const MARK_DISTANCE = 4 * 1024 * 1024;
/** Two marks may be in one write buffer, if an append is larger than the buffer. */
const MARKS_KEPT = 5;

export class ChainMarks {
  readonly #marks: ChainMark[];
  #newest: ChainMark;
  #size = 0;
  #isDue: boolean;

  /** `end`: of the chain, which is all in tables. `checked`: the stored mark `m/checked`. */
  constructor(end: ChainMark, checked: ChainMark) {
    this.#marks = [end];
    this.#newest = end;
    this.#isDue = checked.position < end.position;
  }

  /** The newest mark, perhaps of a batch that is being written. */
  get newest(): ChainMark {
    return this.#newest;
  }

  isNext(size: number): boolean {
    return this.#size + size >= MARK_DISTANCE;
  }

  wrote(size: number): void {
    this.#size += size;
  }

  add(mark: ChainMark): void {
    this.#size = 0;
    this.#newest = mark;
    this.#marks.push(mark);
    if (this.#marks.length <= MARKS_KEPT) return;
    this.#marks.shift();
    this.#isDue = true;
  }

  /** The new `m/checked` to store with this batch; undefined if it does not move. */
  move(): ChainMark | undefined {
    if (!this.#isDue) return undefined;
    this.#isDue = false;
    return this.#marks[0];
  }
}
