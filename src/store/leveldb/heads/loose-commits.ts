/** Collects small commit records, which the committer merges later: that of a single delta is larger than the delta. */

import { CommitBuilder, type FinishedCommit } from "../rows/commit-record.ts";

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
