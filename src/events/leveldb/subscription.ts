/**
 * One subscriber of a session: the past from the log, then live from the tail that all subscribers
 * share. Who is slower than the tail is long reads from the log again, so memory stays bounded.
 */

import type { SessionEvent } from "../catalogue.ts";
import type { LiveTail } from "./live-tail.ts";

/** What a subscription reads from; the log hands it over and takes it back. */
export interface Source {
  readonly tail: LiveTail;
  /** Resolves when the tail knows what is written. */
  readonly ready: Promise<unknown>;
  /** Aborts when the log closes. */
  readonly closing: AbortSignal;
  /** Events in the log, both ends included. */
  readonly read: (from: number, to: number) => AsyncIterable<SessionEvent>;
  readonly release: () => void;
}

/** How many events one reading of the log brings. */
const PAGE = 512;

export function subscription(
  open: () => Source,
  from: number,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<SessionEvent> {
  const ended = new AbortController();
  const end = AbortSignal.any(signal === undefined ? [ended.signal] : [ended.signal, signal]);
  const events = follow(open, from, end);
  return {
    next: () => events.next(),
    // A generator that waits for an event cannot be told to return: it is woken first.
    return: () => {
      ended.abort();
      return events.return(undefined);
    },
    throw: (error: unknown) => {
      ended.abort();
      return events.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* follow(
  open: () => Source,
  from: number,
  end: AbortSignal,
): AsyncGenerator<SessionEvent, undefined> {
  if (end.aborted) return;
  const { tail, ready, closing, read, release } = open();
  const wake = (): void => tail.wake();
  end.addEventListener("abort", wake, { once: true });
  closing.addEventListener("abort", wake, { once: true });
  try {
    await ready;
    let next = from;
    while (!end.aborted && !closing.aborted) {
      const live = tail.from(next);
      if (live !== undefined) {
        for (const event of live) {
          yield event;
          next++;
          if (end.aborted || closing.aborted) return;
        }
      } else if (next <= tail.committed) {
        for await (const event of read(next, Math.min(tail.committed, next + PAGE - 1))) {
          yield event;
          next++;
          if (end.aborted || closing.aborted) return;
        }
      } else {
        await tail.woken;
      }
    }
  } catch (error) {
    // Reading may have been under way when the log closed.
    if (!closing.aborted) throw error;
  } finally {
    end.removeEventListener("abort", wake);
    closing.removeEventListener("abort", wake);
    release();
  }
}
