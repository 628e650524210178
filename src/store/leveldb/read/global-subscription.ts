/**
 * Follows the events of all sessions in global order: reads what is written, waits, reads on. A
 * follower has no buffer, so a slow one costs only its own reads.
 */

import type { GlobalEvent } from "../../../events/index.ts";

export interface GlobalSource {
  readonly written: () => number;
  /** Resolves when more is written or the log closes. */
  readonly more: () => Promise<void>;
  readonly closing: AbortSignal;
  readonly read: (from: number, to: number) => AsyncIterable<GlobalEvent>;
}

export function globalSubscription(
  source: GlobalSource,
  from: number,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<GlobalEvent> {
  const ended = new AbortController();
  const given = signal === undefined ? [] : [signal];
  const end = AbortSignal.any([ended.signal, source.closing, ...given]);
  const events = follow(source, from, end);
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
  { written, more, closing, read }: GlobalSource,
  from: number,
  end: AbortSignal,
): AsyncGenerator<GlobalEvent, undefined> {
  const ending = Promise.withResolvers<void>();
  const wake = (): void => ending.resolve();
  end.addEventListener("abort", wake, { once: true });
  let next = from;
  try {
    while (!end.aborted) {
      const coming = more();
      const to = written();
      if (next > to) {
        await Promise.race([coming, ending.promise]);
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
    end.removeEventListener("abort", wake);
  }
}
