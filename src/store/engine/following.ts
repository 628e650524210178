/**
 * The followers of sessions in this process. What this process writes reaches them from memory; what others write
 * is looked for when the engine says that it may be there.
 */

import type { GlobalEvent, SessionEvent } from "../../events/index.ts";
import type { Engine, Followers } from "./engine.ts";
import type { EventRow } from "../event-rows/index.ts";
import { deletedError } from "../log-rules/log-errors.ts";
import { LiveTail } from "../following/live-tail.ts";
import { globalSubscription, subscription, type Source } from "../following/subscription.ts";

/** What followers need of an engine. */
type Followed = Pick<Engine, "head" | "read" | "readAll" | "end" | "others">;

/** Of an engine that pushes its rows to the tails of followed sessions. */
export interface FollowingOptions {
  /** The events of a row that was pushed to a tail. */
  readonly decode: (session: string, row: EventRow) => readonly SessionEvent[];
  /** Called with a session's tail when its first follower begins, and with undefined when its last one has ended. */
  readonly attach: (session: string, tail: LiveTail | undefined) => void;
}

/** Of an engine whose followers read each event from it. */
const pushingNothing: FollowingOptions = { decode: () => [], attach: () => {} };

export class Following implements Followers {
  /** Of the followed sessions. */
  readonly tails = new Map<string, LiveTail>();
  readonly #engine: Followed;
  readonly #options: FollowingOptions;
  readonly #closing = new AbortController();
  #globalFollowers = 0;
  #more: PromiseWithResolvers<void> = Promise.withResolvers();
  #watching: Disposable | undefined;
  #looking: Promise<void> | undefined;
  #looksAgain = false;

  constructor(engine: Followed, options: FollowingOptions = pushingNothing) {
    this.#engine = engine;
    this.#options = options;
  }

  session(
    session: string,
    from: number,
    signal: AbortSignal | undefined,
  ): AsyncIterableIterator<SessionEvent> {
    return subscription(() => this.#source(session), from, signal);
  }

  all(from: number, signal: AbortSignal | undefined): AsyncIterableIterator<GlobalEvent> {
    return globalSubscription(
      {
        written: () => this.#engine.end(),
        more: () => this.#more.promise,
        notify: () => this.notify(),
        closing: this.#closing.signal,
        read: (first, last) => this.#engine.readAll(first, last),
        begin: () => {
          this.#globalFollowers++;
          this.#watch();
        },
        release: () => {
          this.#globalFollowers--;
          this.#unwatch();
        },
      },
      from,
      signal,
    );
  }

  /** A session was written to up to a position, or deleted. */
  wrote(session: string, revision: number | undefined): void {
    const tail = this.tails.get(session);
    if (revision === undefined) tail?.fail(deletedError(session));
    else tail?.learn(revision);
    this.notify();
  }

  /** Wakes followers of all sessions. */
  notify(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  /** Drops what the tails have in memory, since it may not match the store. */
  forget(): void {
    for (const tail of this.tails.values()) tail.forget();
  }

  /** Ends all followers. */
  async end(): Promise<void> {
    this.#closing.abort();
    this.#watching?.[Symbol.dispose]();
    await this.#looking;
  }

  #source(session: string): Source {
    const { decode, attach } = this.#options;
    const tail = this.tails.get(session) ?? new LiveTail((row) => decode(session, row));
    tail.subscriptions++;
    this.tails.set(session, tail);
    attach(session, tail);
    this.#watch();
    return {
      tail,
      ready: this.#engine.head(session).then(({ revision, isDeleted }) => {
        if (isDeleted) throw deletedError(session);
        tail.learn(revision);
      }),
      closing: this.#closing.signal,
      read: (from, to) => this.#engine.read(session, { from, to }),
      release: () => {
        tail.subscriptions--;
        if (tail.subscriptions > 0) return;
        this.tails.delete(session);
        attach(session, undefined);
        this.#unwatch();
      },
    };
  }

  get #isFollowed(): boolean {
    return this.#globalFollowers > 0 || this.tails.size > 0;
  }

  #watch(): void {
    if (this.#closing.signal.aborted) return;
    this.#watching ??= this.#engine.others?.watch((sessions) => this.look(sessions));
  }

  #unwatch(): void {
    if (this.#isFollowed) return;
    this.#watching?.[Symbol.dispose]();
    this.#watching = undefined;
  }

  /** Looks for what followers were not told. Calls during a look share the next one. */
  async look(sessions?: readonly string[]): Promise<void> {
    const isOfUs =
      this.#globalFollowers > 0 || (sessions?.some((id) => this.tails.has(id)) ?? true);
    if (!isOfUs) return;
    this.#looksAgain = true;
    this.#looking ??= this.#lookWhileCalled();
    await this.#looking;
  }

  async #lookWhileCalled(): Promise<void> {
    // Calls of the same tick share one look.
    await Promise.resolve();
    while (this.#looksAgain && this.#isFollowed && !this.#closing.signal.aborted) {
      this.#looksAgain = false;
      if (this.#globalFollowers > 0) this.notify();
      await Promise.all([...this.tails].map((followed) => this.#lookAt(...followed)));
    }
    // No await since the last condition: a later call begins a new look.
    this.#looking = undefined;
  }

  async #lookAt(session: string, tail: LiveTail): Promise<void> {
    try {
      const { revision, isDeleted } = await this.#engine.head(session);
      if (isDeleted) tail.fail(deletedError(session));
      else tail.learn(revision);
    } catch {
      // A store that does not answer now is looked at again with the next change.
    }
  }
}
