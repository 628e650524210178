/**
 * The heads of all sessions in use. A session that was not written lately is dropped, and read
 * again from its index row and from the commits that the row does not count yet.
 */

import type { LiveTail } from "../../following/live-tail.ts";
import { LooseRows } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import { TurnlogError, parseSessionId } from "../../../events/index.ts";
import { firstOf, rowAt, type Database } from "../rows/database.ts";
import { readFailure } from "../rows/failures.ts";
import { atLeast, readIndex, type IndexEntry, isDeleted } from "../rows/session-rows.ts";
import { eventPrefix, numberOf, sessionKey, under } from "../rows/keys.ts";
import type { Head } from "./head.ts";
import type { IndexRows } from "./index-rows.ts";

/** The number of heads in memory, some hundred bytes each. */
const CAPACITY = 4096;
const done: Promise<void> = Promise.resolve();

export class Heads {
  readonly #database: Database;
  readonly #tails: ReadonlyMap<string, LiveTail>;
  readonly #index: IndexRows;
  readonly #heads = new Map<string, Head>();
  #limit = CAPACITY;

  constructor(database: Database, tails: ReadonlyMap<string, LiveTail>, index: IndexRows) {
    this.#database = database;
    this.#tails = tails;
    this.#index = index;
  }

  /** @throws TurnlogError `INVALID_INPUT` for an invalid session id */
  of(session: string): Head {
    return this.#heads.get(session) ?? this.#load(parseSessionId(session));
  }

  known(session: string): Head | undefined {
    const head = this.#heads.get(session);
    return head?.ready === true ? head : undefined;
  }

  async load(session: string): Promise<Head> {
    const head = this.of(session);
    if (!head.ready) await head.loaded;
    return head;
  }

  /** Undefined while a deletion has the session to itself. */
  unlocked(session: string): Head | undefined {
    const head = this.known(session);
    return head?.isLocked === true ? undefined : head;
  }

  async whenUnlocked(session: string): Promise<void> {
    const head = await this.load(session);
    if (head.isLocked) await head.line;
  }

  /** Sets the tail of a followed session; undefined when nobody follows it any more. */
  attach(session: string, tail: LiveTail | undefined): void {
    const head = tail === undefined ? this.#heads.get(session) : this.of(session);
    if (head !== undefined) head.tail = tail;
  }

  /** Drops all heads, so that they are read from the store again. */
  clear(): void {
    this.#heads.clear();
  }

  #load(session: string): Head {
    if (this.#heads.size >= this.#limit) this.#forget();
    const loading = readHead(this.#database, session, this.#index);
    const head: Head = {
      session,
      prefix: eventPrefix(session),
      loaded: loading.then(({ revision, createdAt, updatedAt, link, isDeleted }) => {
        head.isDeleted = isDeleted;
        head.revision = revision;
        head.committed = revision;
        head.createdAt = createdAt;
        head.updatedAt = updatedAt;
        head.link = link;
        head.ready = true;
        head.tail?.learn(revision);
      }),
      ready: false,
      isDeleted: false,
      isLocked: false,
      revision: 0,
      committed: 0,
      createdAt: 0,
      updatedAt: 0,
      link: undefined,
      share: undefined,
      batches: 0,
      line: done,
      waiting: 0,
      ids: new Map(),
      loose: new LooseRows(),
      tail: this.#tails.get(session),
    };
    this.#heads.set(session, head);
    head.loaded.catch(() => {
      // Waiting callers get the error; the next caller reads the store again.
      if (this.#heads.get(session) === head) this.#heads.delete(session);
    });
    return head;
  }

  /** Drops the older half, except heads that are being written to. */
  #forget(): void {
    let excess = this.#heads.size - CAPACITY / 2;
    for (const [session, head] of this.#heads) {
      if (excess <= 0) break;
      if (!head.ready || head.batches > 0 || head.waiting > 0) continue;
      this.#heads.delete(session);
      excess--;
    }
    // If most heads are busy, the next scan pays only when their number has doubled.
    this.#limit = Math.max(CAPACITY, 2 * this.#heads.size);
  }
}

type Known = IndexEntry & Pick<Head, "isDeleted">;

const nothing = { revision: 0, createdAt: 0, updatedAt: 0, link: undefined } as const;

/** The index row, or newer knowledge in memory, must agree with the last event. */
async function readHead(database: Database, session: string, rows: IndexRows): Promise<Known> {
  const prefix = eventPrefix(session);
  // Read first, since the row may be written in the meantime.
  const known = rows.of(session);
  try {
    const [row, last] = await Promise.all([
      rowAt(database, sessionKey(session)),
      firstOf(database.keys({ ...under(prefix), reverse: true, limit: 1 })),
    ]);
    if (row === undefined && last === undefined)
      return { ...nothing, isDeleted: await isDeleted(database, session) };
    const entry = row === undefined ? undefined : readIndex(session, row);
    const end = last === undefined ? (entry?.link?.position ?? 0) : numberOf(last);
    if (entry === undefined) throw damagedAt(session, end, "its index row is missing or altered");
    const index = atLeast(entry, known);
    const { revision } = index;
    if (revision !== end) {
      throw damagedAt(
        session,
        Math.min(end, revision) + 1,
        `its events end at ${end}, but its index row says ${revision}`,
      );
    }
    return { ...index, isDeleted: false };
  } catch (error) {
    throw TurnlogError.isInstance(error) ? error : readFailure(error, session, 0);
  }
}
