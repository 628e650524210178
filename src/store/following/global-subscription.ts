/** One follower of all sessions. It has no buffer, so a slow one costs only its own reads. */

import type { GlobalEvent } from "../../events/index.ts";
import { firstAbort, onAbort } from "../../shared/index.ts";

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
  const events = follow(source, from, [ended.signal, source.closing, signal]);
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

async function* follow(
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
