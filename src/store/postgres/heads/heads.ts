/** The heads of the sessions in use. Sessions that are needed at the same time are read in one query. */

import { parseSessionId } from "../../../events/index.ts";
import { OpenRow } from "../../event-rows/index.ts";
import type { LiveTail } from "../../following/live-tail.ts";
import { databaseFailure } from "../database/failures.ts";
import type { Sql } from "../database/rows.ts";
import {
  type Head,
  type StoredSession,
  storedSessions,
  unknownSession,
} from "./stored-sessions.ts";

/** The number of heads in memory, some hundred bytes each. */
const CAPACITY = 4096;
const done: Promise<void> = Promise.resolve();

export class Heads {
  readonly #sql: Sql;
  readonly #schema: string;
  readonly #tails: ReadonlyMap<string, LiveTail>;
  readonly #heads = new Map<string, Head>();
  #asked: Map<string, PromiseWithResolvers<StoredSession>> | undefined;

  constructor(sql: Sql, schema: string, tails: ReadonlyMap<string, LiveTail>) {
    this.#sql = sql;
    this.#schema = schema;
    this.#tails = tails;
  }

  /** @throws TurnlogError `INVALID_INPUT` for an invalid session id */
  of(session: string): Head {
    const known = this.#heads.get(session);
    if (known !== undefined) return known;
    parseSessionId(session);
    if (this.#heads.size >= CAPACITY) this.#forget();
    const head: Head = {
      session,
      loaded: done,
      ready: false,
      number: 0,
      isDeleted: false,
      epoch: 0,
      revision: 0,
      committed: 0,
      link: undefined,
      line: done,
      waiting: 0,
      queued: 0,
      ids: new Map(),
      open: new OpenRow(session),
      tail: this.#tails.get(session),
    };
    this.#heads.set(session, head);
    this.reload(head);
    return head;
  }

  /** Sets the tail of a followed session; undefined when nobody follows it any more. */
  attach(session: string, tail: LiveTail | undefined): void {
    const head = tail === undefined ? this.#heads.get(session) : this.of(session);
    if (head !== undefined) head.tail = tail;
  }

  /** Reads the entry again. Appends to the session wait until then, and until `after` has run. */
  reload(head: Head, after: () => void = () => {}): void {
    head.ready = false;
    head.loaded = this.stored(head.session).then((stored) => {
      head.open.clear();
      Object.assign(head, stored, { committed: stored.revision, ready: true });
      head.tail?.learn(stored.revision);
      after();
    });
    head.loaded.catch(() => {
      // Waiting callers get the error; the next caller reads the database again.
      if (this.#heads.get(head.session) === head) this.#heads.delete(head.session);
    });
  }

  /** The entry in the database, read together with all others that are needed now. */
  async stored(session: string): Promise<StoredSession> {
    if (this.#asked === undefined) {
      this.#asked = new Map();
      queueMicrotask(() => void this.#look());
    }
    const asked = this.#asked.get(session) ?? Promise.withResolvers<StoredSession>();
    this.#asked.set(session, asked);
    return await asked.promise;
  }

  async #look(): Promise<void> {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked === undefined) return;
    try {
      const found = await storedSessions(this.#sql, this.#schema, [...asked.keys()]);
      for (const [session, { resolve }] of asked) resolve(found.get(session) ?? unknownSession);
    } catch (error) {
      for (const { reject } of asked.values()) reject(databaseFailure(error, "Reading sessions"));
    }
  }

  /** Drops the older half, except heads that are in use. */
  #forget(): void {
    let excess = this.#heads.size - CAPACITY / 2;
    for (const [session, head] of this.#heads) {
      if (excess <= 0) return;
      if (!head.ready || head.queued > 0 || head.waiting > 0 || head.tail !== undefined) continue;
      this.#heads.delete(session);
      excess--;
    }
  }
}
