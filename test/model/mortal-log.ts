/**
 * The store as one process sees it, with a process that can be killed between any two events. What
 * a dead process still appends is lost and what it asks is never answered, as with SIGKILL; nobody
 * tells it, so its tools and its model go on for nothing. The next process opens the same store.
 */

import type {
  Appended,
  Deleted,
  DeletedSession,
  DeleteOptions,
  EventLog,
  ExpectedRevision,
  ForkEvents,
  GlobalEvent,
  NewEvent,
  ReadRange,
  SessionEntry,
  SessionEvent,
  Snapshot,
} from "../../src/events/index.ts";

/** What all processes of a store have written, seen from outside. One session only. */
export interface Store {
  readonly log: EventLog;
  /** Every event that was taken, in order. */
  readonly events: SessionEvent[];
  /** The position up to which the writers were told that it is durable. */
  durable: number;
  /** Called with every event as it is taken. */
  readonly onEvent: (event: SessionEvent) => void;
}

export class MortalLog implements EventLog {
  readonly #store: Store;
  #alive = true;
  #lastWords: { left: number; readonly counts: (event: SessionEvent) => boolean } | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  /** Kills the process: at once, or as soon as so many more events that count have been taken. */
  kill(after = 0, counts: (event: SessionEvent) => boolean = () => true): void {
    if (after === 0) this.#alive = false;
    else this.#lastWords = { left: after, counts };
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    if (!this.#alive) return never();
    const taken: SessionEvent[] = events.map((event, place) => ({
      ...event,
      position: this.#store.events.length + place + 1,
    }));
    for (const event of taken) {
      this.#store.events.push(event);
      this.#store.onEvent(event);
    }
    const last = this.#store.events.length;
    const words = this.#lastWords;
    if (words !== undefined) {
      words.left -= taken.filter(words.counts).length;
      if (words.left <= 0) this.#alive = false;
    }
    return this.#store.log.append(session, expected, events).then((appended) => {
      this.#store.durable = Math.max(this.#store.durable, last);
      return appended;
    });
  }

  fork(session: string, events: ForkEvents): Promise<Appended> {
    return this.#alive ? this.#store.log.fork(session, events) : never();
  }

  async *read(session: string, range?: ReadRange): AsyncGenerator<SessionEvent> {
    await this.#orNever();
    yield* this.#store.log.read(session, range);
  }

  subscribe(
    session: string,
    options?: { readonly from?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<SessionEvent> {
    return this.#store.log.subscribe(session, options);
  }

  async *subscribeAll(options?: {
    readonly from?: number;
    readonly signal?: AbortSignal;
  }): AsyncGenerator<GlobalEvent> {
    await this.#orNever();
    yield* this.#store.log.subscribeAll(options);
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    await this.#orNever();
    return await this.#store.log.readAt(session, positions);
  }

  async *readAll(options?: { readonly from?: number }): AsyncGenerator<GlobalEvent> {
    await this.#orNever();
    yield* this.#store.log.readAll(options);
  }

  async revision(session: string): Promise<number> {
    await this.#orNever();
    return await this.#store.log.revision(session);
  }

  async *list(options?: { readonly prefix?: string }): AsyncGenerator<SessionEntry> {
    await this.#orNever();
    yield* this.#store.log.list(options);
  }

  async delete(session: string, options?: DeleteOptions): Promise<Deleted> {
    await this.#orNever();
    return await this.#store.log.delete(session, options);
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    await this.#orNever();
    yield* this.#store.log.deleted();
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    await this.#orNever();
    await this.#store.log.saveSnapshot(session, snapshot);
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    await this.#orNever();
    return await this.#store.log.loadSnapshot(session, projection);
  }

  async close(): Promise<void> {
    await this.#orNever();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #orNever(): Promise<void> {
    if (!this.#alive) await never();
  }
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {});
}
