/**
 * One subscriber of a session: the past from the log, then live events from the shared tail. One that falls
 * behind the tail reads from the log again, so memory stays bounded.
 */

import type { GlobalEvent, SessionEvent } from "../../events/index.ts";
import { firstAbort, OneByOne, onAbort } from "../../shared/index.ts";
import type { LiveTail } from "./live-tail.ts";

export interface Source {
  readonly tail: LiveTail;
  /** Resolves when the tail knows the last written position. */
  readonly ready: Promise<unknown>;
  readonly closing: AbortSignal;
  readonly read: (from: number, to: number) => AsyncIterable<SessionEvent>;
  readonly release: () => void;
}

const PAGE = 512;

export function subscription(
  open: () => Source,
  from: number,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<SessionEvent> {
  const left = new AbortController();
  return new Followed(follow(open, from, [left.signal, signal]), left, signal);
}

/** The events of pages, until the follower leaves or its signal aborts. */
class Followed<Item extends object> extends OneByOne<Item> {
  readonly #left: AbortController;
  readonly #signal: AbortSignal | undefined;

  constructor(
    pages: AsyncIterable<readonly Item[]>,
    left: AbortController,
    signal: AbortSignal | undefined,
  ) {
    super(pages);
    this.#left = left;
    this.#signal = signal;
  }

  override next(): Promise<IteratorResult<Item, undefined>> {
    return this.#signal?.aborted === true ? this.return() : super.next();
  }

  /** A waiting generator cannot return: wake it first. */
  override async return(): Promise<IteratorResult<Item, undefined>> {
    this.#left.abort();
    return await super.return();
  }
}

async function* follow(
  open: () => Source,
  from: number,
  left: readonly (AbortSignal | undefined)[],
): AsyncGenerator<readonly SessionEvent[], undefined> {
  if (left.some((one) => one?.aborted === true)) return;
  const { tail, ready, closing, read, release } = open();
  const notify = (): void => tail.notify();
  // Nothing is held for a subscriber that reads nothing.
  using ends = firstAbort(...left, closing);
  const end = ends.signal;
  using _ = onAbort(end, notify);
  try {
    await ready;
    let next = from;
    while (!end.aborted) {
      if (tail.failure !== undefined) throw tail.failure;
      const live = tail.from(next);
      if (live !== undefined) {
        next += live.length;
        yield live;
      } else if (next <= tail.committed) {
        const before = next;
        // One by one: events before an unreadable one are still yielded.
        for await (const event of read(next, Math.min(tail.committed, next + PAGE - 1))) {
          next++;
          yield [event];
          if (end.aborted) return;
        }
        // The session was deleted meanwhile. The tail fails soon, and wakes this follower.
        if (next === before && tail.failure === undefined) await tail.changed;
      } else {
        await tail.changed;
      }
    }
  } catch (error) {
    // The log may have closed during the read.
    if (!closing.aborted) throw error;
  } finally {
    release();
  }
}

// One follower of all sessions. It has no buffer, so a slow one costs only its own reads.

export interface GlobalSource {
  /** The last global position that followers may see. */
  readonly written: () => number | Promise<number>;
  /** Resolves when more may be written or the log closes. */
  readonly more: () => Promise<void>;
  /** Resolves what `more` returned. */
  readonly notify: () => void;
  readonly closing: AbortSignal;
  readonly read: (from: number, to: number) => AsyncIterable<GlobalEvent>;
  /** Called when the follower begins to read, and when it ends. */
  readonly begin?: () => void;
  readonly release?: () => void;
}

export function globalSubscription(
  source: GlobalSource,
  from: number,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<GlobalEvent> {
  const left = new AbortController();
  return new Followed(followAll(source, from, [left.signal, source.closing, signal]), left, signal);
}

async function* followAll(
  { written, more, notify, closing, read, begin, release }: GlobalSource,
  from: number,
  ends: readonly (AbortSignal | undefined)[],
): AsyncGenerator<readonly GlobalEvent[], undefined> {
  // Nothing is held for a follower that reads nothing.
  using first = firstAbort(...ends);
  const end = first.signal;
  // Wakes every follower: a race would leave this one's wait on the promise that they share.
  using _ = onAbort(end, notify);
  let next = from;
  begin?.();
  try {
    while (!end.aborted) {
      const coming = more();
      const to = await written();
      if (next > to) {
        await coming;
        continue;
      }
      for await (const event of read(next, to)) {
        if (end.aborted) return;
        next = event.position + 1;
        yield [event];
      }
      // If nothing was read, those sessions are deleted.
      next = to + 1;
    }
  } catch (error) {
    // The log may have closed during the read.
    if (!closing.aborted) throw error;
  } finally {
    release?.();
  }
}
