/**
 * One subscriber of a session: the past from the log, then live events from the shared tail. One that falls
 * behind the tail reads from the log again, so memory stays bounded.
 */

import type { GlobalEvent, SessionEvent } from "../../events/index.ts";
import { firstAbort, onAbort } from "../../shared/index.ts";
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
  const ended = new AbortController();
  return singly(follow(open, from, [ended.signal, signal]), ended, signal);
}

function singly(
  pages: AsyncGenerator<readonly SessionEvent[], undefined>,
  ended: AbortController,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<SessionEvent> {
  type Next = IteratorResult<SessionEvent, undefined>;
  let page: readonly SessionEvent[] = [];
  let index = 0;
  let turning: Promise<Next> | undefined;
  const next = (): Promise<Next> => {
    if (turning !== undefined) return afterwards(turning);
    const isLeft = ended.signal.aborted || signal?.aborted === true;
    const value = isLeft ? undefined : page[index];
    if (value !== undefined) {
      index++;
      return Promise.resolve({ done: false, value });
    }
    turning = turn().finally(() => {
      turning = undefined;
    });
    return turning;
  };
  /** Answers a call that comes before the last answer, after that answer. */
  const afterwards = async (before: Promise<Next>): Promise<Next> => {
    await Promise.allSettled([before]);
    return await next();
  };
  const turn = async (): Promise<Next> => {
    const turned = await pages.next();
    const [value] = turned.value ?? [];
    if (turned.done === true || value === undefined) return { done: true, value: undefined };
    page = turned.value;
    index = 1;
    return { done: false, value };
  };
  return {
    next,
    // A waiting generator cannot return: wake it first.
    return: async () => {
      ended.abort();
      await pages.return(undefined);
      return { done: true, value: undefined };
    },
    throw: async (error: unknown) => {
      ended.abort();
      await pages.throw(error);
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
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
  const ended = new AbortController();
  const events = followAll(source, from, [ended.signal, source.closing, signal]);
  return {
    next: () => events.next(),
    // A waiting generator cannot return: wake it first.
    return: async () => {
      ended.abort();
      await events.return(undefined);
      return { done: true, value: undefined };
    },
    throw: async (error: unknown) => {
      ended.abort();
      return await events.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* followAll(
  { written, more, notify, closing, read, begin, release }: GlobalSource,
  from: number,
  ends: readonly (AbortSignal | undefined)[],
): AsyncGenerator<GlobalEvent, undefined> {
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
        yield event;
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
