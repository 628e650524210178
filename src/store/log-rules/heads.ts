/**
 * Heads: what a log keeps in memory of the sessions in use, above all their last positions. Those that were not written
 * lately are dropped and read from the store again.
 */

import { parseSessionId, type ForkPoint } from "../../events/index.ts";
import type { LiveTail } from "../following/live-tail.ts";

/** Where an event with an id is. */
export interface IdPlace {
  readonly position: number;
  /** Resolves with its global position when it is written. */
  readonly written: () => Promise<number>;
}

export interface WaitingHead {
  readonly session: string;
  /** Settles when the session is read from the store. Until then appends wait. */
  readonly loaded: Promise<void>;
  readonly ready: boolean;
  readonly isDeleted: boolean;
  /** The last position, including queued events. */
  readonly revision: number;
  /** Where a fork branches off: its own events begin behind this position. */
  readonly link: ForkPoint | undefined;
  /** Settles when every waiting append has its positions. */
  line: Promise<void>;
  waiting: number;
  /** Appends or batches with events of this session that are not written yet. */
  queued: number;
  /** Queued events with an id, by id. */
  readonly ids: ReadonlyMap<string, IdPlace>;
  tail: LiveTail | undefined;
}

/** The number of heads in memory, some hundred bytes each. */
const CAPACITY = 4096;

export abstract class HeadCache<Head extends WaitingHead> {
  readonly #tails: ReadonlyMap<string, LiveTail>;
  readonly #heads = new Map<string, Head>();
  #limit = CAPACITY;

  /** `tails`: of the followed sessions. */
  constructor(tails: ReadonlyMap<string, LiveTail>) {
    this.#tails = tails;
  }

  /** @throws TurnlogError `INVALID_INPUT` for an invalid session id */
  of(session: string): Head {
    const known = this.#heads.get(session);
    if (known !== undefined) return known;
    parseSessionId(session);
    if (this.#heads.size >= this.#limit) this.#forget();
    const head = this.begin(session, this.#tails.get(session));
    this.#heads.set(session, head);
    return head;
  }

  known(session: string): Head | undefined {
    const head = this.#heads.get(session);
    return head?.ready === true ? head : undefined;
  }

  /** Sets the tail of a followed session; undefined when nobody follows it any more. */
  attach(session: string, tail: LiveTail | undefined): void {
    const head = tail === undefined ? this.#heads.get(session) : this.of(session);
    if (head !== undefined) head.tail = tail;
  }

  /** Drops all heads, so that they are read from the store again, and returns them. */
  protected clear(): readonly Head[] {
    const heads = [...this.#heads.values()];
    this.#heads.clear();
    return heads;
  }

  /** A head that begins to be read from the store. */
  protected abstract begin(session: string, tail: LiveTail | undefined): Head;

  /** Where reading fails, waiting callers get the error; the next caller reads the store again. */
  protected dropUnread(head: Head): void {
    head.loaded.catch(() => {
      if (this.#heads.get(head.session) === head) this.#heads.delete(head.session);
    });
  }

  /** Drops the older half, except heads that are being written to. */
  #forget(): void {
    let excess = this.#heads.size - CAPACITY / 2;
    for (const [session, head] of this.#heads) {
      if (excess <= 0) break;
      if (!head.ready || head.queued > 0 || head.waiting > 0) continue;
      this.#heads.delete(session);
      excess--;
    }
    // If most heads are busy, the next scan pays only when their number has doubled.
    this.#limit = Math.max(CAPACITY, 2 * this.#heads.size);
  }
}
