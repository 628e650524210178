/**
 * Consumers: handlers that get the events of all sessions in global order, for read models and webhooks. Each
 * consumer's position is stored after its handler returns, so that every event is handled at least once.
 */

import { isCallbackFailure } from "../../agent/index.ts";
import {
  TurnlogError,
  type CursorStore,
  type EventLog,
  type GlobalEvent,
} from "../../events/index.ts";
import {
  onAbort,
  settledWithin,
  toStoredError,
  withFullStop,
  type Timer,
  untilDone,
} from "../../shared/index.ts";

/** Handles one event. The next one follows when it has returned. */
export type ConsumerHandler = (entry: GlobalEvent) => void | PromiseLike<void>;

/** Options of `Runtime.consume`. */
export interface ConsumeOptions {
  /** The first global position for a consumer with a new name. Default: 1. */
  readonly from?: number;
  /** Aborting it ends the consumer, as `stop` does. */
  readonly signal?: AbortSignal;
}

/**
 * A running consumer.
 * @example
 * const consumer = await runtime.consume("audit", ({ event }) => console.log(event.type));
 * await consumer.stop();
 */
export interface Consumer extends AsyncDisposable {
  readonly name: string;
  /** The global position of the last event whose handler returned; 0 before the first. */
  readonly position: number;
  /**
   * Resolves when the consumer was stopped or the runtime closes. Rejects with `CALLBACK_FAILED` if the handler
   * throws: `session` and `position` name the event, and `details.globalPosition` its place in the log. Rejects
   * with `LOG_DAMAGED`, `EVENT_INVALID` or `EVENT_TOO_NEW` at an event that cannot be read. In each case a
   * restarted consumer gets that event again. While the store is unreachable or its disk is full, the consumer
   * waits, and `onWarning` is called once.
   */
  readonly done: Promise<void>;
  /**
   * Waits for the running handler and stores its position. A handler must not await it, since it would wait for
   * itself.
   * @throws TurnlogError `LOG_FAILED`, `LOG_FULL`: it has stopped, and its position could not be stored
   */
  stop(): Promise<void>;
}

interface ConsumersOptions {
  readonly log: EventLog;
  readonly timer: Timer;
  readonly graceMs: number;
  readonly onWarning: (error: TurnlogError) => void;
}

/** The running consumers of a runtime. Each name runs only once. */
export class Consumers {
  readonly #options: ConsumersOptions;
  readonly #running = new Map<string, RunningConsumer | undefined>();
  #isClosing = false;

  constructor(options: ConsumersOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError `COMMAND_REFUSED`, `RUNTIME_CLOSED`, and what reading the log throws */
  async start(
    name: string,
    handler: ConsumerHandler,
    { from = 1, signal }: ConsumeOptions,
  ): Promise<Consumer> {
    const { log, timer, onWarning } = this.#options;
    const { cursors } = log;
    this.#assertOpen(name);
    if (cursors === undefined)
      throw refused(name, "the log that this runtime was given stores no positions (`cursors`)");
    if (this.#running.has(name))
      throw refused(
        name,
        "a consumer of this name is running already, and two would get the same events. Use another name",
      );
    this.#running.set(name, undefined);
    try {
      const stored = await cursors.load(name);
      this.#assertOpen(name);
      const consumer = new RunningConsumer({ name, handler, log, cursors, timer, onWarning });
      this.#running.set(name, consumer);
      void consumer.run(stored === undefined ? from : stored + 1, signal).then(() => {
        this.#running.delete(name);
      });
      return consumer;
    } catch (error) {
      this.#running.delete(name);
      throw error;
    }
  }

  /** A handler that never returns must not hold the runtime. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const stopped = Promise.all([...this.#running.values()].map(async (one) => await one?.end()));
    await settledWithin(this.#options.graceMs, stopped);
  }

  #assertOpen(name: string): void {
    if (!this.#isClosing) return;
    throw new TurnlogError(
      "RUNTIME_CLOSED",
      `The consumer ${name} was not started: its runtime is closed. Create a runtime on the store again.`,
    );
  }
}

interface RunningOptions extends Omit<ConsumersOptions, "graceMs"> {
  readonly name: string;
  readonly handler: ConsumerHandler;
  readonly cursors: CursorStore;
}

class RunningConsumer implements Consumer {
  readonly #options: RunningOptions;
  readonly #ending = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #handled = 0;
  #saved = 0;
  #saving: Promise<void> | undefined;
  /** The operation that fails now, reading or storing: one warning is enough. */
  readonly #outages = new Set<"read" | "store">();
  #isAsked = false;
  #failure: TurnlogError | undefined;
  #unstored: TurnlogError | undefined;

  constructor(options: RunningOptions) {
    this.#options = options;
    // `onWarning` reports the error too.
    this.done.catch(() => {});
  }

  get name(): string {
    return this.#options.name;
  }

  get position(): number {
    return this.#handled;
  }

  get done(): Promise<void> {
    return this.#ended.promise;
  }

  async stop(): Promise<void> {
    this.#isAsked = true;
    await this.end();
    if (this.#unstored !== undefined) throw this.#unstored;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** As `stop`, for its runtime: a position that could not be stored is a warning. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.done.catch(() => {});
  }

  /** Never rejects. */
  async run(from: number, given: AbortSignal | undefined): Promise<void> {
    const { onWarning } = this.#options;
    using _ = given && onAbort(given, () => this.#ending.abort());
    this.#handled = this.#saved = from - 1;
    try {
      await this.#patiently("read", (works) => this.#follow(works));
    } catch (error) {
      this.#fail(error);
    }
    this.#ending.abort();
    await this.#saving;
    await this.#saveLast();
    if (this.#unstored !== undefined && !this.#isAsked) onWarning(this.#unstored);
    if (this.#failure === undefined) return this.#ended.resolve();
    onWarning(this.#failure);
    this.#ended.reject(this.#failure);
  }

  async #follow(works: () => void): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#ending;
    for await (const entry of log.subscribeAll({ from: this.#handled + 1, signal })) {
      works();
      // Every event that is handled from here on would come again after a crash.
      if (this.#outages.has("store")) await this.#saving;
      if (signal.aborted) return;
      await this.#handle(entry);
      this.#handled = entry.position;
      this.#saving ??= this.#save();
    }
  }

  async #handle(entry: GlobalEvent): Promise<void> {
    try {
      await this.#options.handler(entry);
    } catch (cause) {
      const { session, event, position: globalPosition } = entry;
      const { position, type } = event;
      throw new TurnlogError(
        "CALLBACK_FAILED",
        `The consumer ${this.name} stopped at position ${position} of session ${session} (${type}): ${withFullStop(toStoredError(cause).message)} Start it again: this event comes first.`,
        { session, position, details: { consumer: this.name, globalPosition }, cause },
      );
    }
  }

  /**
   * One write at a time: the next write stores the position of events that are handled during this one. Never
   * rejects.
   */
  async #save(): Promise<void> {
    while (this.#saved < this.#handled && !this.#ending.signal.aborted) {
      try {
        await this.#patiently("store", () => this.#store());
      } catch (error) {
        this.#fail(error);
      }
    }
    this.#saving = undefined;
  }

  /**
   * Ends the consumer with an error that waiting cannot fix. A consumer that is stopped while the log is
   * unreachable has not failed.
   */
  #fail(error: unknown): void {
    if (this.#ending.signal.aborted && !isCallbackFailure(error)) return;
    this.#failure ??= TurnlogError.isInstance(error) ? error : this.#away(error);
    this.#ending.abort();
  }

  async #store(): Promise<void> {
    const position = this.#handled;
    await this.#options.cursors.save(this.name, position);
    this.#saved = position;
  }

  async #saveLast(): Promise<void> {
    if (this.#saved === this.#handled) return;
    try {
      await this.#store();
    } catch (cause) {
      const code = TurnlogError.isInstance(cause) ? cause.code : "LOG_FAILED";
      this.#unstored = new TurnlogError(
        code,
        `The consumer ${this.name} has stopped, and its position ${this.#handled} could not be stored: ${withFullStop(toStoredError(cause).message)} Start it again: the events after ${this.#saved} come again.`,
        { details: { consumer: this.name, globalPosition: this.#handled }, cause },
      );
    }
  }

  async #patiently(
    what: "read" | "store",
    work: (works: () => void) => Promise<void>,
  ): Promise<void> {
    const { timer, onWarning } = this.#options;
    const { signal } = this.#ending;
    const onOutage = (cause: unknown): void => {
      if (this.#outages.size === 0) onWarning(this.#away(cause));
      this.#outages.add(what);
    };
    const onMended = (): void => void this.#outages.delete(what);
    await untilDone(work, { timer, signal, onOutage, onMended });
  }

  #away(cause: unknown): TurnlogError {
    const code = TurnlogError.isInstance(cause) ? cause.code : "LOG_FAILED";
    return new TurnlogError(
      code,
      `The consumer ${this.name} waits after the global position ${this.#handled}: the log cannot be read, or its position cannot be stored (${toStoredError(cause).message}). It continues as soon as that works again.`,
      { details: { consumer: this.name, globalPosition: this.#handled }, cause },
    );
  }
}

function refused(name: string, why: string): TurnlogError {
  return new TurnlogError("COMMAND_REFUSED", `The consumer ${name} was not started: ${why}.`, {
    details: { consumer: name },
  });
}
