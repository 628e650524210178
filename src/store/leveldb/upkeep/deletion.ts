/**
 * Deletes sessions: one write removes all rows and leaves a tombstone. Before it, forks block the
 * deletion, or each gets its own copies by a separate write.
 */

import { damagedAt, deletedError, hasForks, notFound } from "../../log-rules/log-errors.ts";
import {
  defined,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
} from "../../../events/index.ts";
import type { Appender } from "../write/appender.ts";
import type { Committer } from "../write/committer.ts";
import { forkCopy } from "../write/fork-copy.ts";
import { listSessions, readTombstone, tombstoneRow } from "../rows/session-rows.ts";
import { allRows, rowAt } from "../rows/database.ts";
import { readFailure } from "../rows/failures.ts";
import { rangesOf, sessionKey, tombstoneKey, under, sessionIn } from "../rows/keys.ts";
import type { Erasure } from "./erasure.ts";
import type { Head, Heads } from "../heads/heads.ts";
import type { SharedSource } from "../read/reading.ts";

export interface DeletionOptions {
  readonly source: SharedSource;
  readonly heads: Heads;
  readonly committer: Committer;
  readonly appender: Appender;
  readonly erasure: Erasure;
}

export class Deletion {
  readonly #options: DeletionOptions;

  constructor(options: DeletionOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `EventLog.delete` */
  async delete(session: string, { forks = "refuse", by, spent }: DeleteOptions): Promise<Deleted> {
    const { heads, appender, erasure } = this.#options;
    const head = heads.of(session);
    const done = await appender.alone(head, async () => {
      if (head.isDeleted)
        return { revision: await this.#revisionOf(session), forks: [], repeated: true };
      if (head.revision === 0) throw notFound(session);
      head.isLocked = true;
      try {
        return await this.#deleteAlone(head, forks, defined({ by, spent }));
      } finally {
        head.isLocked = false;
      }
    });
    return { session, ...done, erased: await erasure.erase(session) };
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    const { database } = this.#options.source;
    try {
      for await (const [key, row] of allRows(database, under("d/"))) {
        const session = sessionIn(key);
        yield { session, ...tombstoneIn(session, row) };
      }
    } catch (error) {
      throw readFailure(error, "deleted sessions", 0);
    }
  }

  /** During it nothing is appended to the session and no fork begins. */
  async #deleteAlone(
    head: Head,
    mode: "refuse" | "copy",
    told: Pick<DeletedSession, "by" | "spent">,
  ): Promise<Pick<Deleted, "revision" | "forks" | "repeated">> {
    const { committer, erasure, source } = this.#options;
    const { session, revision } = head;
    // The scans below must find everything that was queued before.
    await committer.caughtUp();
    const forks = await this.#forksOf(session);
    if (mode === "refuse" && forks.length > 0) throw hasForks(session, forks);
    for (const fork of forks) await this.#makeIndependent(fork, session);
    const keys: string[] = [sessionKey(session)];
    for (const range of rangesOf(session)) {
      for await (const [key] of allRows(source.database, under(range))) keys.push(key);
    }
    await committer.write((rows) => {
      for (const key of keys) rows.del(key);
      const { key, row } = tombstoneRow(session, { revision, ...told });
      rows.put(key, row);
      const note = erasure.note(session);
      if (note !== undefined) rows.put(...note);
    });
    const { tail } = head;
    Object.assign(head, { isDeleted: true, revision: 0, committed: 0, link: undefined });
    tail?.fail(deletedError(session));
    return { revision, forks, repeated: false };
  }

  async #forksOf(session: string): Promise<readonly string[]> {
    const forks: string[] = [];
    for await (const entry of listSessions(this.#options.source.database, ""))
      if (entry.forkedFrom?.session === session) forks.push(entry.session);
    return forks;
  }

  async #makeIndependent(fork: string, from: string): Promise<void> {
    const { heads, committer, appender, source } = this.#options;
    const head = heads.of(fork);
    await appender.alone(head, async () => {
      // It may have been deleted while this waited for it.
      if (head.isDeleted || head.link?.session !== from) return;
      await committer.caughtUp();
      const { rows, link, createdAt } = await forkCopy(source, head);
      await committer.write((batch) => {
        for (const [key, row] of rows) batch.put(key, row);
      });
      Object.assign(head, { link, createdAt });
    });
  }

  async #revisionOf(session: string): Promise<number> {
    const row = await rowAt(this.#options.source.database, tombstoneKey(session));
    return row === undefined ? 0 : tombstoneIn(session, row).revision;
  }
}

function tombstoneIn(session: string, row: string): Omit<DeletedSession, "session"> {
  const tombstone = readTombstone(session, row);
  if (tombstone === undefined) throw damagedAt(session, 0, "the row of its deletion is altered");
  return tombstone;
}
