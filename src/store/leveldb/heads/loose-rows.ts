/**
 * Collects small rows and commit records, which the committer merges later: a slow stream makes a batch of each
 * delta, whose record is larger than the delta.
 */

import {
  CommitBuilder,
  type FinishedCommit,
  continues,
  isPlainDelta,
  LONGEST_RUN,
  type Delta,
  type EventRow,
} from "../rows/index.ts";

/** Rows with more deltas on average are not merged: writing them again costs more than it saves. */
const LONG_ENOUGH = 16;

export class LooseRows {
  #rows: EventRow[] = [];
  #first: Delta | undefined;
  #events = 0;

  /** Drops rows that are not in the store. */
  clear(): void {
    this.#rows = [];
    this.#first = undefined;
    this.#events = 0;
  }

  /** Takes the session's next row. Returns earlier rows to merge, or none. */
  take(row: EventRow): readonly EventRow[] {
    const [first] = row.events;
    const delta = first !== undefined && isPlainDelta(first) ? first : undefined;
    const begun = this.#first;
    const goesOn = begun !== undefined && delta !== undefined && continues(begun, delta);
    if (goesOn && this.#events + row.events.length <= LONGEST_RUN) {
      this.#rows.push(row);
      this.#events += row.events.length;
      return [];
    }
    const over = this.#rows;
    const isWorthIt = over.length > 1 && this.#events < LONG_ENOUGH * over.length;
    this.#first = delta;
    this.#rows = delta === undefined ? [] : [row];
    this.#events = delta === undefined ? 0 : row.events.length;
    return isWorthIt ? over : [];
  }
}

/** The most records in one, and the most events, unless a single batch had more. */
const RECORDS = 64;
const EVENTS = 4096;

interface Loose {
  readonly record: CommitBuilder;
  readonly finished: FinishedCommit;
}

export interface MergedCommits {
  readonly key: string;
  readonly row: string;
  readonly replaced: readonly string[];
}

export class LooseCommits {
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
