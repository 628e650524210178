/**
 * Gives appends, forks and sessions that come in parts their positions, and passes their rows to the committer.
 */

import { AppendQueue } from "../../log-rules/append-queue.ts";
import {
  checkForkPoint,
  checkRevision,
  idConflict,
  nothingToAppend,
  rowsToAppend,
} from "../../log-rules/append-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import type {
  NewEvent,
  Codec,
  Appended,
  AppendOptions,
  ExpectedRevision,
  ForkEvents,
  ForkPoint,
} from "../../../events/index.ts";
import { lastChecked } from "../read/chain-check.ts";
import type { Committer } from "./committer.ts";
import type { Database } from "../rows/database.ts";
import { indexRow } from "../rows/session-rows.ts";
import { stagedKey } from "../rows/keys.ts";
import { eraseStaged, stagedRow, type StagedMark } from "../rows/staged-row.ts";
import { findIds } from "../heads/event-ids.ts";
import type { Head } from "../heads/head.ts";
import type { Heads } from "../heads/heads.ts";
import type { Lineage } from "../heads/lineage.ts";

export interface AppenderOptions {
  readonly database: Database;
  readonly codec: Codec;
  readonly heads: Heads;
  readonly lineage: Lineage;
  readonly committer: Committer;
}

export class Appender {
  readonly #options: AppenderOptions;
  readonly #line: AppendQueue<Head>;
  /** Settles when the session that comes in parts is written. All other appends are queued behind it. */
  #staging: Promise<void> | undefined;
  /** Work to wait for before a session that comes in parts begins. */
  others: () => Promise<unknown> = async () => {};

  constructor(options: AppenderOptions) {
    this.#options = options;
    this.#line = new AppendQueue<Head>({
      repeated: (head, events) => findIds(options, head, events),
      barrier: () => this.#staging,
      assertUsable: () => {
        const { failure } = options.committer;
        if (failure !== undefined) throw failure;
      },
      queue: (head, expected, events, { origin }) =>
        this.#queue(head, expected, events, { origin }),
    });
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    return this.#line.append(this.#options.heads.of(session), expected, events, options);
  }

  /** Creates a session that shares another session's events up to the position that its first event names. */
  fork(session: string, link: ForkPoint, events: ForkEvents): Promise<Appended> {
    const { heads } = this.#options;
    const head = heads.of(session);
    return this.#line.run<Appended>(head, async () => {
      await heads.load(link.session);
      const repeated = await findIds(this.#options, head, events, link);
      if (repeated !== undefined) return repeated;
      let parent: Head | undefined;
      // No await after the last check: the session cannot be deleted before the fork is queued.
      for (; parent === undefined; parent = heads.unlocked(link.session)) {
        await heads.whenUnlocked(link.session);
        await this.staged();
      }
      if (head.isDeleted) throw deletedError(session);
      checkRevision(head, "none");
      checkForkPoint(parent, link, session);
      return { appended: this.#queue(head, "none", events, { link, origin: "copied" }) };
    });
  }

  async alone<Result>(head: Head, act: () => Promise<Result>): Promise<Result> {
    return await this.#line.run<Result>(head, async () => ({ appended: await act() }));
  }

  /** Resolves when no session is being written in parts. None begins before the caller's next step. */
  async staged(): Promise<void> {
    while (this.#staging !== undefined) await this.#staging;
  }

  /** The session becomes visible when all of it is written. */
  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions,
  ): Promise<Appended> {
    const { heads, committer, database } = this.#options;
    const head = heads.of(session);
    return await this.alone(head, async () => {
      await this.staged();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#staging = promise;
      try {
        if (head.isDeleted) throw deletedError(session);
        checkRevision(head, "none");
        await this.others();
        await committer.flushed();
        const mark = { session, before: committer.written, checked: await lastChecked(database) };
        committer.stage(head);
        return await this.#stage(head, mark, parts, options);
      } finally {
        this.#staging = undefined;
        resolve();
      }
    });
  }

  async #stage(
    head: Head,
    mark: StagedMark,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions,
  ): Promise<Appended> {
    const { committer, database } = this.#options;
    const write = committer.write.bind(committer);
    try {
      await write((rows) => rows.put(...stagedRow(mark)));
      let appended: Appended | undefined;
      for await (const part of parts) {
        if (await findIds(this.#options, head, part))
          throw idConflict(head, "they are in it twice", []);
        appended = await this.#queue(head, "any", part, options);
      }
      if (appended === undefined) throw nothingToAppend(head);
      const { key, row } = indexRow(head.session, head);
      await write((rows) => {
        rows.put(key, row);
        rows.del(stagedKey);
      });
      committer.publish();
      return appended;
    } catch (error) {
      if (committer.failure !== undefined) throw error;
      await eraseStaged(database, mark, write);
      committer.withdraw(mark.checked);
      throw error;
    }
  }

  async settled(): Promise<void> {
    await this.#line.settled();
  }

  /** From here on the events have their positions. */
  #queue(
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    {
      link,
      origin,
    }: { readonly origin?: AppendOptions["origin"] | undefined; readonly link?: ForkPoint },
  ): Promise<Appended> {
    const { committer, codec } = this.#options;
    if (committer.failure !== undefined) throw committer.failure;
    const base = link?.position ?? head.revision;
    const rows = rowsToAppend(codec, head, expected, events, { origin, base });
    if (link !== undefined) Object.assign(head, { link, revision: base });
    return committer.append(head, rows);
  }
}
