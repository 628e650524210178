/**
 * Commit records of batches that follow each other, to be merged into one: a stream that comes
 * slowly makes a batch of each delta, and the record is larger than the delta. Kept by the committer.
 */

import { CommitBuilder, type FinishedCommit } from "../rows/index.ts";

/** How many records become one, and how many events one may tell of, unless a batch was larger. */
const RECORDS = 64;
const EVENTS = 4096;

interface Loose {
  readonly record: CommitBuilder;
  readonly finished: FinishedCommit;
}

/** One record, and the keys of those that it takes the place of beside its own. */
export interface MergedCommits {
  readonly key: string;
  readonly row: string;
  readonly gone: readonly string[];
}

export class LooseCommits {
  #loose: Loose[] = [];
  #events = 0;

  get isDue(): boolean {
    return this.#loose.length >= RECORDS || this.#events >= EVENTS;
  }

  /** The record that follows those before. */
  add(record: CommitBuilder, finished: FinishedCommit): void {
    this.#loose.push({ record, finished });
    this.#events += record.count;
  }

  /** Leaves the records so far as they are: somebody relies on where one of them ends. */
  clear(): void {
    this.#loose = [];
    this.#events = 0;
  }

  /** All records so far in one; undefined where there is nothing to merge. */
  merge(): MergedCommits | undefined {
    const loose = this.#loose;
    this.clear();
    const [first] = loose;
    const last = loose.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    const merged = new CommitBuilder(first.record.position);
    const indexes = new Map<string, number>();
    for (const { record } of loose) merged.addAll(record, indexes);
    const { key, row } = merged.finish(first.finished.previous, last.finished.mark.seal);
    return { key, row, gone: loose.slice(1).map(({ finished }) => finished.key) };
  }
}
