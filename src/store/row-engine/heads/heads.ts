/** The heads of sessions in use: read from a session's index row and from the commits that the row does not count yet. */

import { TurnlogError, type Appended, type ForkPoint } from "../../../events/index.ts";
import { LooseRows } from "../../event-rows/index.ts";
import type { LiveTail } from "../../following/live-tail.ts";
import { HeadCache, type IdPlace, type WaitingHead } from "../../log-rules/heads.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import { firstOf, rowAt, type RowStore, type WriteBatch } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import { eventPrefix, numberOf, sessionKey, under } from "../rows/keys.ts";
import { atLeast, readIndex, type IndexEntry, isDeleted, indexRow } from "../rows/session-rows.ts";

// A head: what the writer knows of one session in use, above all its last position.

export interface PendingBatch {
  promise(appended: Appended): Promise<Appended>;
}

export interface BatchShare {
  readonly batch: PendingBatch;
  readonly head: Head;
  /** The session's index in the commit record. */
  readonly index: number;
  /** Whether the batch contains the first events that the session owns. */
  readonly isFirst: boolean;
  /** The session's last position, and the time of that event, once the batch is written. */
  revision: number;
  updatedAt: number;
  ids: string[] | undefined;
}

export interface Head extends WaitingHead {
  readonly prefix: string;
  ready: boolean;
  /** The session was deleted: its name cannot be used again. */
  isDeleted: boolean;
  /** A deletion has the session to itself: other changes wait for the end of `line`. */
  isLocked: boolean;
  /** A write failed, and what is known here may be wrong: changes that began with it are refused. */
  isLost: boolean;
  revision: number;
  committed: number;
  createdAt: number;
  updatedAt: number;
  link: ForkPoint | undefined;
  share: BatchShare | undefined;
  readonly ids: Map<string, IdPlace>;
  readonly loose: LooseRows;
}

// When index rows are written: with a session's first events, and later for many commits at once. Until then the
// heads know where sessions end; after a kill the commit records do (`opening.ts`).

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

const done: Promise<void> = Promise.resolve();

export class Heads extends HeadCache<Head> {
  readonly #database: RowStore;
  readonly #index: IndexRows;

  constructor(database: RowStore, tails: ReadonlyMap<string, LiveTail>, index: IndexRows) {
    super(tails);
    this.#database = database;
    this.#index = index;
  }

  async load(session: string): Promise<Head> {
    const head = this.of(session);
    if (!head.ready) await head.loaded;
    return head;
  }

  /** Has everything read again after a failed write: only the store knows what was written. */
  lose(): void {
    for (const head of this.clear()) head.isLost = true;
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

  protected begin(session: string, tail: LiveTail | undefined): Head {
    const loading = readHead(this.#database, session, this.#index);
    const head: Head = {
      session,
      prefix: eventPrefix(session),
      loaded: loading.then((stored) => {
        Object.assign(head, stored, { committed: stored.revision, ready: true });
        head.tail?.learn(stored.revision);
      }),
      ready: false,
      isDeleted: false,
      isLocked: false,
      isLost: false,
      revision: 0,
      committed: 0,
      createdAt: 0,
      updatedAt: 0,
      link: undefined,
      share: undefined,
      queued: 0,
      line: done,
      waiting: 0,
      ids: new Map(),
      loose: new LooseRows(),
      tail,
    };
    this.dropUnread(head);
    return head;
  }
}

type Known = IndexEntry & Pick<Head, "isDeleted">;

const nothing = { revision: 0, createdAt: 0, updatedAt: 0, link: undefined } as const;

/** The index row, or newer knowledge in memory, must agree with the last event. */
async function readHead(database: RowStore, session: string, rows: IndexRows): Promise<Known> {
  const prefix = eventPrefix(session);
  // Read first, since the row may be written in the meantime.
  const known = rows.of(session);
  try {
    const [row, last] = await Promise.all([
      rowAt(database, sessionKey(session)),
      firstOf(database, { ...under(prefix), reverse: true }),
    ]);
    if (row === undefined && last === undefined)
      return { ...nothing, isDeleted: await isDeleted(database, session) };
    const entry = row === undefined ? undefined : readIndex(session, row);
    const end = last === undefined ? (entry?.link?.position ?? 0) : numberOf(last[0]);
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
