/**
 * What commits behind a mark wrote, by session. Index rows are complete up to the mark, but may not
 * count these events yet: code that reads index rows without the log's memory asks here.
 */

import type { CommitRecord } from "./commit-record.ts";
import type { IndexEntry } from "./session-rows.ts";

export interface Written {
  readonly from: number;
  readonly to: number;
}

export class SinceMark {
  readonly #mark: number;
  readonly #sessions = new Map<string, { readonly from: number; to: number }>();

  /** @param mark - A global position at which a record ends. */
  constructor(mark: number) {
    this.#mark = mark;
  }

  add({ position, ranges }: Pick<CommitRecord, "position" | "ranges">): void {
    if (position <= this.#mark) return;
    for (const { session, from, count } of ranges) {
      const known = this.#sessions.get(session);
      if (known === undefined) this.#sessions.set(session, { from, to: from + count - 1 });
      else known.to = from + count - 1;
    }
  }

  /** What was written of a session; undefined if its row has to be complete. */
  of(session: string): Written | undefined {
    return this.#sessions.get(session);
  }

  get sessions(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  /** Whether a row is behind, but no older than the mark allows. */
  isBehind(session: string, { revision }: Pick<IndexEntry, "revision">): boolean {
    const written = this.#sessions.get(session);
    return written !== undefined && revision >= written.from - 1 && revision < written.to;
  }

  /** The row as it should be. `updatedAt` is the time of the last event, if known. */
  caughtUp(session: string, entry: IndexEntry, updatedAt: number = entry.updatedAt): IndexEntry {
    const revision = this.#sessions.get(session)?.to;
    if (revision === undefined || !this.isBehind(session, entry)) return entry;
    return { ...entry, revision, updatedAt };
  }
}
