/**
 * When index rows are written: with a session's first events, and later for many commits at once. Until
 * then the heads know where sessions end; after a kill the commit records do (`opening.ts`).
 */

import type { WriteBatch } from "../rows/database.ts";
import { indexRow, type IndexEntry } from "../rows/session-rows.ts";
import type { BatchShare, Head } from "./head.ts";

/** The most sessions whose rows may be behind: writing them takes some milliseconds. */
const MOST = 4096;

export class IndexRows {
  readonly #behind = new Map<string, Head>();

  get isDue(): boolean {
    return this.#behind.size >= MOST;
  }

  of(session: string): Pick<Head, "committed" | "updatedAt"> | undefined {
    return this.#behind.get(session);
  }

  /** What is known of all sessions whose rows may be behind, now or later. */
  get all(): ReadonlyMap<string, Pick<Head, "committed" | "updatedAt">> {
    return new Map(this.#behind);
  }

  /** Adds the rows of sessions that begin in this batch. */
  begin(rows: Pick<WriteBatch, "put">, shares: readonly BatchShare[]): void {
    for (const share of shares) if (share.isFirst) put(rows, share.head, share);
  }

  /** Adds the rows of all sessions that are behind. */
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

  /** Notes that a batch is written, with all index rows or only those of new sessions. */
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
