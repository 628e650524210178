/**
 * Appends a session's events to the log, in order and without waiting: consecutive deltas in one append,
 * every other event at once. It never changes or drops an event.
 */

import { setImmediate } from "node:timers/promises";
import { isDelta, type EventLog, type SessionEvent } from "../../events/index.ts";

/**
 * Parts that may be recorded before the event loop gets a turn, so that the log can write: two or three
 * milliseconds of the fastest stream. Each turn costs one write.
 */
const PARTS_PER_TURN = 256;
/** Recorded events that the log may lack: about as many as arrive during an fsync of one millisecond. */
const MOST_UNWRITTEN = 256;

export interface SessionWriterOptions {
  readonly session: string;
  readonly log: Pick<EventLog, "append">;
  /** The last position in the log. */
  readonly position: number;
  /** Called with the error of a failed append. All later appends fail too. */
  readonly onFailure: (error: unknown) => void;
}

export class SessionWriter {
  readonly #options: SessionWriterOptions;
  /** Recorded deltas that are not appended yet. */
  #deltas: SessionEvent[] = [];
  /** Recorded `blob.stored` events that wait for the event that refers to them. */
  readonly #blobs: SessionEvent[] = [];
  #recorded: number;
  #written: number;
  /** Pending appends. The log may reject one before it resolves earlier ones. */
  readonly #appending = new Set<Promise<void>>();
  #lastAppend: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  #paced = 0;

  constructor(options: SessionWriterOptions) {
    this.#options = options;
    this.#recorded = options.position;
    this.#written = options.position;
  }

  get written(): number {
    return this.#written;
  }

  get isDone(): boolean {
    return this.#written === this.#recorded;
  }

  write(event: SessionEvent): void {
    if (isDelta(event)) this.#gather(event);
    else if (event.type === "blob.stored") {
      // Appended with the event that refers to it, which follows and is not a delta.
      this.#blobs.push(event);
    } else {
      this.#appendDeltas();
      this.#append([...this.#blobs.splice(0), event]);
    }
    this.#recorded = event.position;
  }

  /** Resolves when all events are in the log. @throws the error of the first failed append */
  async durable(): Promise<void> {
    this.#appendDeltas();
    // The wait gives the event loop its turn.
    this.#paced = 0;
    await this.#lastAppend;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#appending);
  }

  /** A wait, if the log has fallen behind or needs a turn of the event loop. */
  pace(): Promise<void> | undefined {
    if (this.#recorded - this.#written > MOST_UNWRITTEN) return this.durable();
    this.#paced += 1;
    if (this.#paced < PARTS_PER_TURN) return undefined;
    this.#paced = 0;
    return setImmediate();
  }

  /** One append per delta would cost more than all other work on it. */
  #gather(delta: SessionEvent): void {
    if (this.#deltas.push(delta) > 1) return;
    process.nextTick(() => {
      this.#appendDeltas();
    });
  }

  #appendDeltas(): void {
    const deltas = this.#deltas;
    if (deltas.length === 0) return;
    this.#deltas = [];
    this.#append(deltas);
  }

  #append(events: readonly SessionEvent[]): void {
    // After a failed append the log has a gap.
    if (this.#failure !== undefined) return;
    const { session, log, onFailure } = this.#options;
    const last = events.at(-1)?.position ?? this.#recorded;
    const options = { writer: this, origin: "recorded" } as const;
    const appended = log.append(session, last - events.length, events, options);
    const answered = appended.then(
      () => {
        this.#appending.delete(answered);
        this.#written = last;
      },
      (error: unknown) => {
        this.#appending.delete(answered);
        this.#failure ??= { error };
        onFailure(error);
      },
    );
    this.#appending.add(answered);
    this.#lastAppend = answered;
  }
}
