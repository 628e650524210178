/**
 * When index rows are written: with a session's first events, and later for many commits at once, as
 * those name the events that they wrote. In between the heads here know where sessions end; after a
 * kill the commits do (`index-catch-up.ts`). Kept by the committer, asked by who reads index rows.
 */

import { type WriteBatch, indexRow, type IndexEntry } from "../rows/index.ts";
import type { BatchShare, Head } from "./head.ts";

/** Of so many sessions at most: writing their rows takes some milliseconds. */
const MOST = 4096;

export class IndexRows {
  /** Whose row is behind what is written. */
  readonly #behind = new Map<string, Head>();

  get isDue(): boolean {
    return this.#behind.size >= MOST;
  }

  /** What is known of a session whose row may be behind. */
  of(session: string): Pick<Head, "committed" | "updatedAt"> | undefined {
    return this.#behind.get(session);
  }

  /** The same of all sessions, for whoever reads rows from now on, some of which may be behind no more. */
  get all(): ReadonlyMap<string, Pick<Head, "committed" | "updatedAt">> {
    return new Map(this.#behind);
  }

  /** Adds the rows of sessions that begin with a batch. */
  begin(rows: Pick<WriteBatch, "put">, shares: readonly BatchShare[]): void {
    for (const share of shares) if (share.isFirst) put(rows, share.head, share);
  }

  /** Adds the rows of all sessions that are behind when a batch is written. */
  catchUp(rows: Pick<WriteBatch, "put">, shares: readonly BatchShare[]): void {
    const own = new Set<string>();
    for (const share of shares) {
      own.add(share.head.session);
      put(rows, share.head, share);
    }
    for (const [session, head] of this.#behind) {
      if (own.has(session)) continue;
      put(rows, head, { revision: head.committed, updatedAt: head.updatedAt });
    }
  }

  /** A batch is written, with the rows of all sessions or only of those that begin. */
  written(shares: readonly BatchShare[], all: boolean): void {
    if (all) this.#behind.clear();
    else for (const { head, isFirst } of shares) if (!isFirst) this.#behind.set(head.session, head);
  }
}

function put(
  rows: Pick<WriteBatch, "put">,
  { session, createdAt, link }: Head,
  { revision, updatedAt }: Pick<IndexEntry, "revision" | "updatedAt">,
): void {
  const { key, row } = indexRow(session, { revision, createdAt, updatedAt, link });
  rows.put(key, row);
}
