/** Subscriptions to one session or to all: opens the tails that subscribers share, and wakes waiting subscribers. */

import { queuedEvents } from "../../event-rows/index.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { type GlobalSource, globalSubscription } from "../../following/global-subscription.ts";
import { LiveTail } from "../../following/live-tail.ts";
import { subscription, type Source } from "../../following/subscription.ts";
import type { GlobalEvent, SessionEvent, Codec } from "../../../events/index.ts";
import type { Heads } from "../heads/heads.ts";

export interface FollowingOptions {
  readonly codec: Codec;
  readonly heads: Heads;
  /** The tails of followed sessions, shared with `Heads`. */
  readonly tails: Map<string, LiveTail>;
  readonly read: (session: string, from: number, to: number) => AsyncIterable<SessionEvent>;
  readonly readAll: GlobalSource["read"];
  readonly written: () => number;
}

export class Following {
  readonly #options: FollowingOptions;
  readonly #closing = new AbortController();
  #more: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(options: FollowingOptions) {
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
    const { written, readAll } = this.#options;
    const source: GlobalSource = {
      written,
      more: () => this.#more.promise,
      notify: () => this.notify(),
      closing: this.#closing.signal,
      read: readAll,
    };
    return globalSubscription(source, from, signal);
  }

  notify(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  forget(): void {
    for (const tail of this.#options.tails.values()) tail.forget();
  }

  end(): void {
    this.#closing.abort();
  }

  #source(session: string): Source {
    const { heads, tails, read } = this.#options;
    const head = heads.of(session);
    const tail = tails.get(session) ?? this.#newTail(session);
    tail.subscriptions++;
    tails.set(session, tail);
    head.tail = tail;
    return {
      tail,
      ready: heads.load(session).then(({ committed, isDeleted: isGone }) => {
        if (isGone) throw deletedError(session);
        tail.advance(committed);
      }),
      closing: this.#closing.signal,
      read: (from, to) => read(session, from, to),
      release: () => {
        tail.subscriptions--;
        if (tail.subscriptions > 0) return;
        tails.delete(session);
        heads.detach(session);
      },
    };
  }

  #newTail(session: string): LiveTail {
    const { codec } = this.#options;
    return new LiveTail((row) => queuedEvents(codec, session, row));
  }
}
