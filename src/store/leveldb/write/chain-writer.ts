/**
 * Completes each batch with the rows that it has once: its commit record, which continues the chain, the index
 * rows of many batches at once, and the mark from which the next opening reads the chain.
 */

import type { Batch } from "../heads/batch.ts";
import type { BatchShare } from "../heads/head.ts";
import type { IndexRows } from "../heads/index-rows.ts";
import { LooseCommits } from "../heads/loose-commits.ts";
import { type ChainMark, checkedMarkRow } from "../rows/commit-record.ts";
import { ChainMarks } from "../rows/chain-marks.ts";
import { SpareRows } from "../rows/spare-rows.ts";
import type { WriteBatch } from "../rows/database.ts";

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
  #marks: ChainMarks;
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
   * @param shares - Of the sessions whose index rows are written.
   * @param before - The end of the chain before the batch.
   */
  finish(batch: Batch, shares: readonly BatchShare[], before: ChainMark): ChainMark {
    const end = batch.record.count === 0 ? undefined : this.#record(batch, before);
    const isMark = end !== undefined && this.#marks.isNext(batch.size);
    // The next opening reads the chain from a mark only, so index rows must be complete up to it.
    batch.indexesAll ||= isMark || this.#index.isDue;
    if (batch.indexesAll) this.#index.catchUp(batch, shares);
    else this.#index.begin(batch, shares);
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

  /** Merges no later record with those that were written so far. */
  keepRecords(): void {
    this.#loose.clear();
  }

  /** Goes on from a stored mark, after the rows behind it were deleted. */
  restart(checked: ChainMark): void {
    this.#marks = new ChainMarks(checked, checked);
    this.#loose.clear();
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
