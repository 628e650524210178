/** Decrypts events as they are read. Only the first event of each range of one key has to wait. */

import {
  type SessionEvent,
  type EventLog,
  type GlobalEvent,
  TurnlogError,
} from "../../events/index.ts";
import { keyMissing, keyWrong } from "./key-store.ts";
import { withoutKey, type KeyRing, type KeyRange } from "./key-ring.ts";
import { isEncrypted, decryptedEvent } from "./encrypted-event.ts";

export type WithoutKey = "refuse" | "redact";

export interface DecryptOptions {
  readonly log: EventLog;
  readonly ring: KeyRing | undefined;
  readonly withoutKey: WithoutKey;
}

export class EventDecrypter {
  readonly #options: DecryptOptions;
  readonly #rangees = new Map<string, KeyRange>();
  /** Sessions whose keys could not be read for events of all sessions. */
  readonly #unreadable = new Set<string>();

  constructor(options: DecryptOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError `KEY_MISSING`, `KEY_WRONG`, `SESSION_DELETED` */
  decrypt(session: string, event: SessionEvent): SessionEvent | Promise<SessionEvent> {
    if (!isEncrypted(event)) return event;
    const known = this.#rangees.get(session);
    if (known !== undefined && known.from <= event.position && event.position <= known.to)
      return decryptWith(known, session, event);
    return this.#look(session, event);
  }

  /**
   * As `decrypt`; undefined for an event of a session that is deleted during the read. Where a missing key
   * reads as redacted, one that cannot be read does too: it must not hide the other sessions.
   */
  async decryptGlobal(global: GlobalEvent): Promise<GlobalEvent | undefined> {
    const { session, event } = global;
    try {
      if (this.#unreadable.has(session)) return redacted(global);
      const decrypted = this.decrypt(session, event);
      return decrypted === event ? global : { ...global, event: await decrypted };
    } catch (error) {
      if (!TurnlogError.isInstance(error)) throw error;
      if (error.code === "SESSION_DELETED") return undefined;
      if (this.#options.withoutKey !== "redact") throw error;
      this.#unreadable.add(session);
      return redacted(global);
    }
  }

  async #look(session: string, event: SessionEvent): Promise<SessionEvent> {
    const { log, ring, withoutKey: policy } = this.#options;
    const range = await ring?.range(session, event.position);
    if (range !== undefined) {
      this.#rangees.set(session, range);
      return decryptWith(range, session, event);
    }
    if (policy === "redact") return decryptedEvent(event, undefined) ?? event;
    if (ring === undefined) throw keyMissing(session, event.position);
    throw await withoutKey(log, session, event.position);
  }
}

function redacted(global: GlobalEvent): GlobalEvent {
  return { ...global, event: decryptedEvent(global.event, undefined) ?? global.event };
}

function decryptWith({ key }: KeyRange, session: string, event: SessionEvent): SessionEvent {
  const opened = decryptedEvent(event, key.contentKey(event.position));
  if (opened !== undefined) return opened;
  const whose = key.session === session ? "" : `, which wrote it for ${session}`;
  throw keyWrong(
    key.session,
    event.position,
    `it decrypts nothing there${whose}. Give the keys that it was written with`,
  );
}

/** Ends and returns as the given sequence does. */
export function mapped<Value>(
  values: AsyncIterable<Value>,
  change: (value: Value) => Value | undefined | Promise<Value | undefined>,
): AsyncIterableIterator<Value> {
  const given = values[Symbol.asyncIterator]();
  const end = async (): Promise<IteratorResult<Value>> => {
    await given.return?.();
    return { done: true, value: undefined };
  };
  return {
    async next() {
      for (;;) {
        const next = await given.next();
        if (next.done === true) return next;
        try {
          const value = await change(next.value);
          if (value !== undefined) return { done: false, value };
        } catch (error) {
          await end();
          throw error;
        }
      }
    },
    return: end,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
