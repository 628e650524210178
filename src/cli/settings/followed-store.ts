/**
 * Yields what a store has, and then what is written later: at once while another process shares the store, else
 * each time that a process has closed it.
 */

import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hasCode, type EventLog } from "../../events/index.ts";
import { storeChangedAt } from "../../store/leveldb/index.ts";
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

/** How often the files of a closed store are checked for a change, in milliseconds. */
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
  /** The time of the last change that was read; -1 before the first read. */
  let read = -1;
  async function* noted(items: AsyncIterable<Item>): AsyncGenerator<Item> {
    for await (const item of items) {
      next = item.position + 1;
      yield item;
    }
  }
  for (;;) {
    const changed = changedAt(place);
    try {
      if (changed !== read) {
        await using log = await openSessions(place, reading);
        yield* noted(stored(log, next));
        read = changed;
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

/** A deletion changes it too. A database is followed without a break. */
function changedAt({ dir, remote }: SessionsPlace): number {
  return remote === undefined ? storeChangedAt(resolve(dir)) : 0;
}
