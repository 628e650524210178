/** One follower of all sessions. It has no buffer, so a slow one costs only its own reads. */

import type { GlobalEvent } from "../../events/index.ts";

export interface GlobalSource {
  /** The last global position that followers may see. */
  readonly written: () => number | Promise<number>;
  /** Resolves when more may be written or the log closes. */
  readonly more: () => Promise<void>;
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
  { written, more, closing, read, begin, release }: GlobalSource,
  from: number,
  end: AbortSignal,
): AsyncGenerator<GlobalEvent, undefined> {
  const ending = Promise.withResolvers<void>();
  const wake = (): void => ending.resolve();
  end.addEventListener("abort", wake, { once: true });
  let next = from;
  begin?.();
  try {
    while (!end.aborted) {
      const coming = more();
      const to = await written();
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
    release?.();
  }
}
