/**
 * Consumers: handlers that get the events of all sessions in global order, for read models and webhooks. The
 * position of each is stored after its handler returned, so that every event is handled at least once.
 */

import {
  TurnlogError,
  type CursorStore,
  type EventLog,
  type GlobalEvent,
} from "../events/index.ts";
import { settledWithin, toStoredError, withFullStop } from "../shared/index.ts";

/** Gets one event. The next one comes once it has returned. */
export type ConsumerHandler = (entry: GlobalEvent) => void | PromiseLike<void>;

/** Options of `Runtime.consume`. */
export interface ConsumeOptions {
  /** The first global position that a consumer of a new name gets. Default: 1. */
  readonly from?: number;
  /** Ends the consumer, as `stop` does. */
  readonly signal?: AbortSignal;
}

/**
 * A running consumer.
 * @example
 * const consumer: Consumer = await runtime.consume("audit", ({ event }) => console.log(event.type));
 * await consumer.stop();
 */
export interface Consumer extends AsyncDisposable {
  readonly name: string;
  /** The global position of the last event whose handler returned; 0 before the first. */
  readonly position: number;
  /**
   * Resolves when the consumer was stopped or the runtime closes. Rejects with `CALLBACK_FAILED` if the handler
   * throws: `session` and `position` name the event, `details.globalPosition` its place. That event comes again
   * when the consumer is started again.
   */
  readonly done: Promise<void>;
  /** Waits for the handler that runs, and stores its position: a handler that waits for it waits for itself. */
  stop(): Promise<void>;
}

interface ConsumersOptions {
  readonly log: EventLog;
  readonly graceMs: number;
  readonly onWarning: (error: TurnlogError) => void;
}

/** The consumers of a runtime, each name once. */
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
    const { log, onWarning } = this.#options;
    const { cursors } = log;
    this.#assertOpen(name);
    if (cursors === undefined)
      throw refused(name, "the log that this runtime was given stores no positions (`cursors`)");
    if (this.#running.has(name))
      throw refused(name, "it runs already, and two would get the same events. Use another name");
    this.#running.set(name, undefined);
    try {
      const stored = await cursors.load(name);
      this.#assertOpen(name);
      const consumer = new RunningConsumer({ name, handler, log, cursors, onWarning });
      this.#running.set(name, consumer);
      const free = (): void => void this.#running.delete(name);
      consumer.run(stored === undefined ? from : stored + 1, signal).then(free, free);
      return consumer;
    } catch (error) {
      this.#running.delete(name);
      throw error;
    }
  }

  /** A handler that never returns must not hold the runtime. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const stopped = Promise.all([...this.#running.values()].map(async (one) => await one?.stop()));
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

interface RunningOptions {
  readonly name: string;
  readonly handler: ConsumerHandler;
  readonly log: EventLog;
  readonly cursors: CursorStore;
  readonly onWarning: (error: TurnlogError) => void;
}

class RunningConsumer implements Consumer {
  readonly #options: RunningOptions;
  readonly #ending = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #handled = 0;
  #saved = 0;
  #saving: Promise<void> | undefined;

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
    this.#ending.abort();
    await this.done.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async run(from: number, given: AbortSignal | undefined): Promise<void> {
    const { log, onWarning } = this.#options;
    const signal = AbortSignal.any([this.#ending.signal, ...(given === undefined ? [] : [given])]);
    this.#handled = this.#saved = from - 1;
    let failure: unknown;
    try {
      for await (const entry of log.subscribeAll({ from, signal })) {
        if (signal.aborted) break;
        await this.#handle(entry);
        this.#handled = entry.position;
        this.#saving ??= this.#save();
      }
    } catch (error) {
      failure = error;
    }
    try {
      await this.#saving;
    } catch (error) {
      failure ??= error;
    }
    if (failure === undefined) return this.#ended.resolve();
    if (TurnlogError.isInstance(failure)) onWarning(failure);
    this.#ended.reject(failure);
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

  /** One write at a time: what was handled meanwhile is stored by the next one. */
  async #save(): Promise<void> {
    try {
      while (this.#saved < this.#handled) {
        const position = this.#handled;
        await this.#options.cursors.save(this.name, position);
        this.#saved = position;
      }
      this.#saving = undefined;
    } catch (error) {
      this.#ending.abort();
      throw error;
    }
  }
}

function refused(name: string, why: string): TurnlogError {
  return new TurnlogError("COMMAND_REFUSED", `The consumer ${name} was not started: ${why}.`, {
    details: { consumer: name },
  });
}
