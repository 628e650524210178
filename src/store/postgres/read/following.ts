/**
 * Subscriptions. What this process writes reaches its followers from memory; what others write reaches them when
 * the database is polled (`following.ts`).
 */

import type { Codec, GlobalEvent, SessionEvent } from "../../../events/index.ts";
import { queuedEvents } from "../../event-rows/index.ts";
import { globalSubscription } from "../../following/global-subscription.ts";
import { LiveTail } from "../../following/live-tail.ts";
import { subscription, type Source } from "../../following/subscription.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { type Sql, parseRows, position } from "../database/rows.ts";
import type { Heads } from "../heads/heads.ts";
import { horizon, readGlobal } from "./global-order.ts";
import type { Reading } from "./reading.ts";
import { z } from "zod";

export interface FollowingOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly codec: Codec;
  readonly heads: Heads;
  readonly reading: Reading;
  /** The tails of followed sessions, shared with `Heads`. */
  readonly tails: Map<string, LiveTail>;
  readonly intervalMs: number;
  /** Begins to listen to other processes. */
  readonly listen: () => void;
  /**
   * Resolves when this process's appends that the database may have written have resolved: the database
   * shows an event before its answer arrives here, and no follower sees it earlier than the caller.
   */
  readonly answered: () => Promise<void>;
}

export class Following {
  readonly #options: FollowingOptions;
  readonly #closing = new AbortController();
  readonly #polling: Polling;
  #globalFollowers = 0;
  #more: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(options: FollowingOptions) {
    this.#options = options;
    const { sql, schema, intervalMs, tails, answered } = options;
    this.#polling = new Polling({
      sql,
      schema,
      intervalMs,
      answered,
      followed: () => [...tails.keys()],
      followsAll: () => this.#globalFollowers > 0,
      onGlobal: () => {
        this.notify();
      },
      onMoved: (moved) => {
        for (const { id, revision, is_deleted } of moved) {
          const tail = tails.get(id);
          if (is_deleted) tail?.fail(deletedError(id));
          else tail?.learn(revision);
        }
      },
    });
  }

  session(
    session: string,
    from: number,
    signal: AbortSignal | undefined,
  ): AsyncIterableIterator<SessionEvent> {
    return subscription(() => this.#source(session), from, signal);
  }

  all(from: number, signal: AbortSignal | undefined): AsyncIterableIterator<GlobalEvent> {
    const { sql, schema, codec, answered } = this.#options;
    return globalSubscription(
      {
        written: async () => {
          const last = await horizon(sql, schema);
          await answered();
          return last;
        },
        more: () => this.#more.promise,
        notify: () => this.notify(),
        closing: this.#closing.signal,
        read: (first, last) => readGlobal({ sql, schema, codec }, first, last),
        begin: () => {
          this.#globalFollowers++;
          this.#begin();
        },
        release: () => {
          this.#globalFollowers--;
        },
      },
      from,
      signal,
    );
  }

  /** Wakes followers of all sessions. */
  notify(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  /** Another process wrote to these sessions; to any if undefined. */
  hint(sessions: readonly string[] | undefined): void {
    const { tails } = this.#options;
    const isFollowed =
      this.#globalFollowers > 0 ||
      (sessions === undefined ? tails.size > 0 : sessions.some((session) => tails.has(session)));
    if (isFollowed) this.#polling.hint();
  }

  async end(): Promise<void> {
    this.#closing.abort();
    await this.#polling.end();
  }

  #begin(): void {
    this.#polling.start();
    this.#options.listen();
  }

  #source(session: string): Source {
    const { codec, heads, tails, reading } = this.#options;
    const head = heads.of(session);
    const tail = tails.get(session) ?? new LiveTail((row) => queuedEvents(codec, session, row));
    tail.subscriptions++;
    tails.set(session, tail);
    head.tail = tail;
    this.#begin();
    return {
      tail,
      ready: heads.stored(session).then(({ revision, isDeleted }) => {
        if (isDeleted) throw deletedError(session);
        tail.learn(revision);
      }),
      closing: this.#closing.signal,
      read: (first, last) => reading.span(session, first, last),
      release: () => {
        tail.subscriptions--;
        if (tail.subscriptions > 0) return;
        tails.delete(session);
        const known = heads.known(session);
        if (known !== undefined) known.tail = undefined;
      },
    };
  }
}

// Asks the database for what other processes wrote, as long as somebody follows: one query for all
// followed sessions, at an interval or after a hint. A hint may be lost; the interval is the truth.

/** The entry of a followed session as it is now. */
interface Moved {
  readonly id: string;
  readonly revision: number;
  readonly is_deleted: boolean;
}

const movedSchema: z.ZodType<Moved> = z.object({
  id: z.string(),
  revision: position,
  is_deleted: z.boolean(),
});

interface PollingOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly intervalMs: number;
  /** Resolves when this process's appends that the database may have written have resolved. */
  readonly answered: () => Promise<void>;
  readonly followed: () => readonly string[];
  /** Whether somebody follows all sessions. */
  readonly followsAll: () => boolean;
  readonly onMoved: (moved: readonly Moved[]) => void;
  readonly onGlobal: () => void;
}

class Polling {
  readonly #options: PollingOptions;
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #again = false;
  #ended = false;

  constructor(options: PollingOptions) {
    this.#options = options;
  }

  /** Starts polling unless it is already running. Polling ends when no follower is left. */
  start(): void {
    if (this.#timer !== undefined || this.#ended) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.hint();
    }, this.#options.intervalMs);
  }

  /** Polls now, since another process has announced a write. */
  hint(): void {
    if (this.#asking === undefined) this.#asking = this.#ask();
    else this.#again = true;
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#asking;
  }

  async #ask(): Promise<void> {
    // Callers that ask in the same tick share one query.
    await Promise.resolve();
    const { sql, schema, answered, followed, followsAll, onMoved, onGlobal } = this.#options;
    do {
      this.#again = false;
      const sessions = followed();
      if (followsAll()) onGlobal();
      if (sessions.length === 0) break;
      try {
        const rows = await sql.query(
          `SELECT id, revision, is_deleted FROM ${schema}.sessions WHERE id = ANY ($1)`,
          [sessions],
        );
        await answered();
        if (!this.#isEnded()) onMoved(parseRows(movedSchema, rows));
      } catch {
        // A database that does not answer now is queried again at the next interval.
      }
    } while (this.#again);
    this.#asking = undefined;
    if (followed().length > 0 || followsAll()) this.start();
  }

  #isEnded(): boolean {
    return this.#ended;
  }
}
