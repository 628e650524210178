/**
 * Hands what a session records to the log, in order and without waiting: deltas that come without a
 * pause together, everything else at once. Knows how far the log has come. Used by the session actor,
 * which is its only caller; it decides nothing about what is recorded.
 */

import { setImmediate } from "node:timers/promises";
import { isDelta, type EventLog, type SessionEvent } from "../../events/index.ts";

/**
 * Parts that may be recorded before the event loop is given a turn, so that the log can write: two or
 * three milliseconds of the fastest stream. Each turn costs a write of its own. A stream that comes
 * over a network has turns of its own.
 */
const PARTS_PER_TURN = 256;
/** Events that may be recorded and not yet in the log: what a millisecond's fsync leaves behind. */
const MOST_UNWRITTEN = 256;

export interface SessionWriterOptions {
  readonly session: string;
  readonly log: Pick<EventLog, "append">;
  /** The position up to which the log has everything. */
  readonly position: number;
  /** Told of an append that failed; what comes after it fails too. */
  readonly onFailure: (error: unknown) => void;
}

export class SessionWriter {
  readonly #options: SessionWriterOptions;
  /** Deltas that are recorded and not handed to the log yet. */
  #deltas: SessionEvent[] = [];
  /** Blobs that were recorded, and wait for the event that refers to them. */
  readonly #blobs: SessionEvent[] = [];
  #recorded: number;
  #written: number;
  /** Appends that the log has not answered yet; it may answer a refused one before those that came before it. */
  readonly #appending = new Set<Promise<void>>();
  #lastAppend: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  #paced = 0;

  constructor(options: SessionWriterOptions) {
    this.#options = options;
    this.#recorded = options.position;
    this.#written = options.position;
  }

  /** The position up to which the log has everything. */
  get written(): number {
    return this.#written;
  }

  /** Whether the log has everything that was recorded. */
  get isDone(): boolean {
    return this.#written === this.#recorded;
  }

  /** Takes the event that follows the last one. */
  write(event: SessionEvent): void {
    if (isDelta(event)) this.#gather(event);
    else if (event.type === "blob.stored") {
      // Goes to the log with the event that refers to it, which follows and is no delta.
      this.#blobs.push(event);
    } else {
      this.#appendDeltas();
      this.#append([...this.#blobs.splice(0), event]);
    }
    this.#recorded = event.position;
  }

  /** Resolves when everything is in the log. @throws why the log refused the first append that it did */
  async durable(): Promise<void> {
    this.#appendDeltas();
    // The event loop has a turn meanwhile.
    this.#paced = 0;
    await this.#lastAppend;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Resolves when nothing that was handed to the log can still come into it. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#appending);
  }

  /** Something to wait for, where the log needs a turn of the event loop or has fallen behind. */
  pace(): Promise<void> | undefined {
    if (this.#recorded - this.#written > MOST_UNWRITTEN) return this.durable();
    this.#paced += 1;
    if (this.#paced < PARTS_PER_TURN) return undefined;
    this.#paced = 0;
    return setImmediate();
  }

  /** Deltas that come without a pause go to the log together: an append each costs more than all the rest of them. */
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
    // What comes behind a refused append has lost its ground.
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
