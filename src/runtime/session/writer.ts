/**
 * Appends a session's events to the log, in order and without waiting: consecutive parts in one append,
 * every other event at once. It never changes or drops an event.
 */

import {
  type AppendOptions,
  type EventLog,
  type SessionEvent,
  digestIn,
  HashChain,
} from "../../events/index.ts";
import { asEncrypted } from "../../store/encryption/index.ts";
import type { SessionState } from "../../state/index.ts";
import { loopPace } from "./loop-pace.ts";

/** Recorded events that the log may lack: about as many as arrive during an fsync of one millisecond. */
const MOST_UNWRITTEN = 256;

export interface SessionWriterOptions {
  readonly session: string;
  readonly log: Pick<EventLog, "append">;
  /** Of the claim on the session; undefined where one process owns the store. */
  readonly epoch: number | undefined;
  /** The last position in the log. */
  readonly position: number;
  /** Called with the error of a failed append. All later appends fail too. */
  readonly onFailure: (error: unknown) => void;
}

export class SessionWriter {
  readonly #options: SessionWriterOptions;
  readonly #appendOptions: AppendOptions;
  /** Recorded parts that are not appended yet. */
  #parts: SessionEvent[] = [];
  /** Recorded `blob.stored` events that wait for the event that refers to them. */
  readonly #blobs: SessionEvent[] = [];
  #recorded: number;
  #written: number;
  /** Pending appends. The log may reject one before it resolves earlier ones. */
  readonly #appending = new Set<Promise<void>>();
  #lastAppend: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: SessionWriterOptions) {
    this.#options = options;
    const { epoch } = options;
    const by = { writer: this, origin: "recorded" } as const;
    this.#appendOptions = epoch === undefined ? by : { ...by, epoch };
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
    if (event.type.startsWith("part.") && this.#blobs.length === 0) this.#gather(event);
    else if (event.type === "blob.stored") {
      // Appended with the event that refers to it, which follows.
      this.#blobs.push(event);
    } else {
      this.#appendParts();
      this.#append([...this.#blobs.splice(0), event]);
    }
    this.#recorded = event.position;
  }

  /** Resolves when all events are in the log. @throws the error of the first failed append */
  async durable(): Promise<void> {
    this.#appendParts();
    await this.#lastAppend;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#appending);
  }

  /** A wait, if the log has fallen behind or needs a turn of the event loop. */
  pace(): Promise<void> | undefined {
    if (this.#recorded - this.#written > MOST_UNWRITTEN) return this.durable();
    return loopPace(1);
  }

  /** One append per part would cost more than all other work on it. */
  #gather(part: SessionEvent): void {
    if (this.#parts.push(part) > 1) return;
    process.nextTick(() => {
      this.#appendParts();
    });
  }

  #appendParts(): void {
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#parts = [];
    this.#append(parts);
  }

  #append(events: readonly SessionEvent[]): void {
    // After a failed append the log has a gap.
    if (this.#failure !== undefined) return;
    const { session, log, onFailure } = this.#options;
    const last = events.at(-1)?.position ?? this.#recorded;
    const appended = log.append(session, last - events.length, events, this.#appendOptions);
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

// The hash chain of a live session: when a link is due, and how the chain continues after a restart.

/** A link follows these: the ends of attempts at a step, and of turns. */
const linked: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "step.finished",
  "step.failed",
  "step.interrupted",
  "turn.ended",
]);

/** Encrypts an event, if the store is encrypted: the chain hashes the stored form. */
type Encrypt = (event: SessionEvent) => void;

export class SessionChain {
  readonly #chain: HashChain;
  readonly #encrypt: Encrypt;

  constructor(chain: HashChain, encrypt: Encrypt = () => {}) {
    this.#chain = chain;
    this.#encrypt = encrypt;
  }

  get isOpen(): boolean {
    return this.#chain.open > 0;
  }

  /** A link with its digest; any other event unchanged. */
  linked(event: SessionEvent): SessionEvent {
    if (event.type === "session.chained") {
      return { ...event, data: { ...event.data, digest: this.#chain.digest(event) } };
    }
    if (event.type !== "session.closed") return event;
    const link = { ...event, data: { ...event.data, digest: "" } };
    this.#encrypt(link);
    return { ...event, data: { ...event.data, digest: this.#chain.digest(link) } };
  }

  /** Adds an event to the chain. Returns whether a link must follow it. */
  take(event: SessionEvent): boolean {
    this.#encrypt(event);
    this.#chain.take(event);
    return linked.has(event.type);
  }
}

/** Reads the events that no link covers: few, or all events of a session without a chain. */
export async function openChain(
  log: EventLog,
  session: string,
  { position, machine }: Pick<SessionState, "position" | "machine">,
): Promise<SessionChain | undefined> {
  if (machine.matches("closed")) return undefined;
  let from = 1;
  for await (const event of log.read(session, { to: position, backwards: true })) {
    from = event.position;
    if (digestIn(event) !== undefined) break;
  }
  const chain = new HashChain();
  for await (const event of log.read(session, { from, to: position })) chain.take(event);
  return new SessionChain(chain, await asEncrypted(log)?.encryptor(session));
}
