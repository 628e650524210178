/**
 * What a store has, and what is written later: as the process that has the store open writes it, else each time
 * that the store has been closed.
 */

import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hasCode, type EventLog } from "../../events/index.ts";
import { storeReached } from "../../store/leveldb/index.ts";
import {
  openSessions,
  sharedSessions,
  type SessionsPlace,
  type SessionsUse,
} from "./store-folder.ts";

/** How stored and live items are read, from a position on. */
export interface Followed<Item> {
  readonly stored: (log: EventLog, from: number) => AsyncIterable<Item>;
  readonly live: (log: EventLog, from: number, signal: AbortSignal) => AsyncIterable<Item>;
}

/** Milliseconds between two reads of `store.json`, which is written when a store is closed. */
const POLL_MS = 500;

/** For commands that only read. */
export const reading = {
  readOnly: true,
  elsewhere:
    "A store has one owner at a time. The process that has it can follow its events: `runtime.log.subscribeAll()` in a program.",
  // An encrypted session must not hide the others.
  withoutKey: "redact",
} as const satisfies SessionsUse;

/** Goes on until the signal aborts. */
export async function* followed<Item extends { readonly position: number }>(
  place: SessionsPlace,
  { stored, live }: Followed<Item>,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<Item> {
  let next = from;
  /** Where the store was when it was read last; unlike any place before the first time. */
  let read = -1;
  async function* noted(items: AsyncIterable<Item>): AsyncGenerator<Item> {
    for await (const item of items) {
      next = item.position + 1;
      yield item;
    }
  }
  for (;;) {
    const reached = await reachedBy(place);
    try {
      if (reached !== read) {
        await using log = await openSessions(place, reading);
        yield* noted(stored(log, next));
        read = reached;
      }
    } catch (error) {
      // Another process has opened it since the first time.
      if (read === -1 || !hasCode(error, "LOG_LOCKED")) throw error;
    }
    try {
      await using log = await sharedSessions(place, reading.withoutKey);
      if (log !== undefined) yield* noted(live(log, next, signal));
    } catch (error) {
      if (!hasCode(error, "LOG_CLOSED")) throw error;
    }
    signal.throwIfAborted();
    await wait(POLL_MS, undefined, { signal });
  }
}

/** The last global position of the store when it was closed. A database is followed without a break. */
async function reachedBy({ dir, remote }: SessionsPlace): Promise<number> {
  return remote === undefined ? await storeReached(resolve(dir)) : 0;
}
