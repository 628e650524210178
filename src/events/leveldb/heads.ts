/**
 * What the writer knows of each session that is in use: its last position, written and queued.
 * Sessions not written lately are forgotten and read again from their index row.
 */

import { z } from "zod";
import { TurnlogError } from "../errors.ts";
import { parseSessionId } from "../session-id.ts";
import type { LiveTail } from "./live-tail.ts";
import { LooseRows } from "./loose-rows.ts";
import { firstOf, rowAt, type Database } from "./database.ts";
import { damagedAt, readFailure } from "./failures.ts";
import type { Head } from "./head.ts";
import { eventPrefix, numberOf, sessionKey, under } from "./keys.ts";
import { unseal } from "./sealed-row.ts";

/** Last position, time of the first and of the last event. */
export const indexSchema: z.ZodType<
  readonly [revision: number, createdAt: number, updatedAt: number]
> = z.tuple([z.int().positive(), z.number(), z.number()]);

/** How many heads are remembered, some hundred bytes each. */
const CAPACITY = 4096;
const done: Promise<void> = Promise.resolve();

export class Heads {
  readonly #database: Database;
  readonly #tails: ReadonlyMap<string, LiveTail>;
  readonly #heads = new Map<string, Head>();
  #limit = CAPACITY;

  constructor(database: Database, tails: ReadonlyMap<string, LiveTail>) {
    this.#database = database;
    this.#tails = tails;
  }

  /** @throws TurnlogError `INVALID_INPUT` for a name that no session can have */
  of(session: string): Head {
    return this.#heads.get(session) ?? this.#load(parseSessionId(session));
  }

  /** The head, once it is known. */
  async known(session: string): Promise<Head> {
    const head = this.of(session);
    if (!head.ready) await head.loaded;
    return head;
  }

  /** Nobody follows the session any more. */
  detach(session: string): void {
    const head = this.#heads.get(session);
    if (head !== undefined) head.tail = undefined;
  }

  /** Forgets everything, so that the store is asked again. */
  clear(): void {
    this.#heads.clear();
  }

  #load(session: string): Head {
    if (this.#heads.size >= this.#limit) this.#forget();
    const loading = readHead(this.#database, session);
    const head: Head = {
      session,
      prefix: eventPrefix(session),
      loaded: loading.then(([revision, createdAt]) => {
        head.revision = revision;
        head.committed = revision;
        head.createdAt = createdAt;
        head.ready = true;
        head.tail?.advance(revision);
      }),
      ready: false,
      revision: 0,
      committed: 0,
      createdAt: 0,
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
      // Whoever waits for it is told; the next one shall ask the store again.
      if (this.#heads.get(session) === head) this.#heads.delete(session);
    });
    return head;
  }

  /** Drops the older half, except the heads that somebody is writing to. */
  #forget(): void {
    let excess = this.#heads.size - CAPACITY / 2;
    for (const [session, head] of this.#heads) {
      if (excess <= 0) break;
      if (!head.ready || head.batches > 0 || head.waiting > 0) continue;
      this.#heads.delete(session);
      excess--;
    }
    // Where most are busy, looking at all of them again pays only when there are twice as many.
    this.#limit = Math.max(CAPACITY, 2 * this.#heads.size);
  }
}

/** Asks the index row and the last event, which must agree. */
async function readHead(database: Database, session: string): Promise<readonly [number, number]> {
  const prefix = eventPrefix(session);
  try {
    const [index, last] = await Promise.all([
      rowAt(database, sessionKey(session)),
      firstOf(database.keys({ ...under(prefix), reverse: true, limit: 1 })),
    ]);
    const end = last === undefined ? 0 : numberOf(last);
    if (index === undefined && end === 0) return [0, 0];
    const entry = index === undefined ? undefined : unseal(sessionKey(session), index, indexSchema);
    if (entry === undefined) throw damagedAt(session, end, "its index row is missing or altered");
    const [revision, createdAt] = entry;
    if (revision !== end) {
      throw damagedAt(
        session,
        Math.min(end, revision) + 1,
        `its events end at ${end}, its index row says ${revision}`,
      );
    }
    return [revision, createdAt];
  } catch (error) {
    throw TurnlogError.isInstance(error) ? error : readFailure(error, session, 0);
  }
}
