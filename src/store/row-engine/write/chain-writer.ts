/**
 * Completes each batch with the rows that it has once: its commit record, which continues the chain, the index
 * rows of many batches at once, and the mark from which the next opening reads the chain.
 */

import type { Batch } from "../heads/batch.ts";
import type { IndexRows } from "../heads/heads.ts";
import {
  type ChainMark,
  checkedMarkRow,
  CommitBuilder,
  type FinishedCommit,
} from "../rows/commit-record.ts";
import { SpareRows } from "../rows/spare-rows.ts";
import type { WriteBatch } from "../rows/row-store.ts";

/** The entry of commit records among the spare rows: no session has this name. */
const commits = "/";

export interface ChainWriterOptions {
  /** LevelDB's tables hold all of the chain. */
  readonly end: ChainMark;
  readonly checked: ChainMark;
  readonly index: IndexRows;
}

export class ChainWriter {
  readonly #index: IndexRows;
  readonly #marks: ChainMarks;
  readonly #loose = new LooseCommits();
  readonly spare = new SpareRows();

  constructor({ end, checked, index }: ChainWriterOptions) {
    this.#index = index;
    this.#marks = new ChainMarks(end, checked);
  }

  /** The newest mark, perhaps of a batch that is being written. */
  get newestMark(): ChainMark {
    return this.#marks.newest;
  }

  /**
   * Completes a batch, and returns the new end of the chain.
   * @param before - The end of the chain before the batch.
   */
  finish(batch: Batch, before: ChainMark): ChainMark {
    const end = batch.record.count === 0 ? undefined : this.#record(batch, before);
    const isMark = end !== undefined && this.#marks.isNext(batch.size);
    // The next opening reads the chain from a mark only, so index rows must be complete up to it.
    batch.indexesAll ||= isMark || this.#marks.isDue || this.#index.isDue;
    if (batch.indexesAll) this.#index.catchUp(batch, batch.shares);
    else this.#index.begin(batch, batch.shares);
    if (end === undefined) return before;
    this.spare.wrote(batch.size);
    if (isMark) {
      this.#marks.add(end);
      this.#loose.clear();
    } else this.#marks.wrote(batch.size);
    const moved = this.#marks.move();
    if (moved !== undefined) batch.put(...checkedMarkRow(moved));
    return end;
  }

  /** Adds merged commit records and late index rows to a batch that follows all others. */
  settle(batch: Pick<WriteBatch, "put" | "del">): void {
    this.#merge(batch);
    this.#index.catchUp(batch, []);
  }

  #record(batch: Batch, before: ChainMark): ChainMark {
    if (this.#loose.isDue) this.#merge(batch);
    const finished = batch.record.finish(before.checksum);
    const { key, row, mark } = finished;
    batch.put(key, row);
    this.#loose.add(batch.record, finished);
    return mark;
  }

  /** Merges the collected commit records, in a batch that follows all of them. */
  #merge(batch: Pick<WriteBatch, "put" | "del">): void {
    const merged = this.#loose.merge();
    const to = merged?.replaced.at(-1);
    if (merged === undefined || to === undefined) return;
    batch.put(merged.key, merged.row);
    for (const key of merged.replaced) batch.del(key);
    const { key: from, row, replaced } = merged;
    this.spare.note(commits, { from, to }, replaced.length * (from.length + row.length));
  }
}

// Collects small commit records, which the committer merges later: that of a single delta is larger than the delta.

/** The most records in one, and the most events, unless a single batch had more. */
const RECORDS = 64;
const EVENTS = 4096;

interface Loose {
  readonly record: CommitBuilder;
  readonly finished: FinishedCommit;
}

interface MergedCommits {
  readonly key: string;
  readonly row: string;
  readonly replaced: readonly string[];
}

class LooseCommits {
  #loose: Loose[] = [];
  #events = 0;

  get isDue(): boolean {
    return this.#loose.length >= RECORDS || this.#events >= EVENTS;
  }

  add(record: CommitBuilder, finished: FinishedCommit): void {
    this.#loose.push({ record, finished });
    this.#events += record.count;
  }

  /** Leaves the collected records unmerged: a mark relies on the end of one of them. */
  clear(): void {
    this.#loose = [];
    this.#events = 0;
  }

  /** Merges the collected records; undefined if there are fewer than two. */
  merge(): MergedCommits | undefined {
    const loose = this.#loose;
    this.clear();
    const [first] = loose;
    const last = loose.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    const merged = new CommitBuilder(first.record.position);
    const indexes = new Map<string, number>();
    for (const { record } of loose) merged.addAll(record, indexes);
    const { key, row } = merged.finish(first.finished.previous, last.finished.mark.checksum);
    return { key, row, replaced: loose.slice(1).map(({ finished }) => finished.key) };
  }
}

// Marks in the chain of commits, some megabytes apart. Everything before the oldest one is in LevelDB's tables,
// so opening checks the chain only from there (`m/checked`). Index rows are complete up to each mark.

/** LevelDB keeps at most two write buffers of 4 MB in its log files; older rows are in tables. */
const MARK_DISTANCE = 4 * 1024 * 1024;
/** Two marks may be in one write buffer, if an append is larger than the buffer. */
const MARKS_KEPT = 5;

class ChainMarks {
  readonly #marks: ChainMark[];
  #newest: ChainMark;
  #size = 0;
  /** Whether `m/checked` has to be stored anew. */
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

  get isDue(): boolean {
    return this.#isDue;
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
