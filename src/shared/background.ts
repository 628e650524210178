/**
 * Work without a caller that waits, such as the delivery of a message for later. It is tried until it succeeds,
 * however long the store is away. An outage is reported once, not at every try.
 */

import { TurnlogError } from "../events/index.ts";
import { firstAbort } from "./abort.ts";
import { waited, type Timer } from "./timer.ts";

/** The waits double from the first one to the longest. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;

/** An attempt after a failure that lasts this long counts as a success: it may last forever. */
const LASTING_MS = 30_000;

export interface Trying {
  readonly timer: Timer;
  /** Ends the waits. */
  readonly signal: AbortSignal;
  /** Gets the first failure of an outage. */
  readonly onOutage: (error: unknown) => void;
  /** Called when the work succeeds again. */
  readonly onMended?: () => void;
}

/**
 * @param work - Calls what it gets when it works: the next failure is that of another outage.
 * @throws the last failure, if time cannot mend it or the signal aborted
 */
export async function untilDone<Result>(
  work: (works: () => void) => Promise<Result>,
  { timer, signal, onOutage, onMended }: Trying,
): Promise<Result> {
  let next: number | undefined;
  const works = (): void => {
    if (next === undefined) return;
    next = undefined;
    onMended?.();
  };
  for (;;) {
    try {
      using _ = next === undefined ? undefined : timer(LASTING_MS, works, { kind: "background" });
      const result = await work(works);
      works();
      return result;
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error;
      if (next === undefined) onOutage(error);
      const wait = next ?? FIRST_WAIT_MS;
      next = Math.min(2 * wait, LONGEST_WAIT_MS);
      if (!(await waited(timer, wait, { kind: "background" }, signal))) throw error;
    }
  }
}

/** What a store away or a full disk ends with. Errors of a log that is not ours may mean anything. */
const ofOutages: ReadonlySet<string> = new Set(["LOG_FAILED", "LOG_FULL", "LOG_READ_ONLY"]);

export function isOutage(error: unknown): boolean {
  return TurnlogError.isInstance(error) && ofOutages.has(error.code);
}

/** Whether a later try may succeed without a repair of what is stored. */
function mayPass(error: unknown): boolean {
  if (!TurnlogError.isInstance(error)) return true;
  return error.code === "SESSION_FAILED" ? mayPass(error.cause) : isOutage(error);
}

export interface BackgroundOptions {
  readonly timer: Timer;
  readonly onWarning: (error: TurnlogError) => void;
  /** The most works that are tried at the same time. Default: all. */
  readonly concurrency?: number;
}

/** The background work of one kind. Disposing of it ends the waits and begins nothing more. */
export class Background implements Disposable {
  readonly #options: BackgroundOptions;
  readonly #closing = new AbortController();
  readonly #running = new Unfinished();
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.#free = options.concurrency ?? Number.POSITIVE_INFINITY;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Never rejects: a failure that time cannot mend is a warning too. */
  async run(work: () => Promise<void>, warning: (cause: unknown) => TurnlogError): Promise<void> {
    const { timer, onWarning } = this.#options;
    const { signal } = this.#closing;
    const onOutage = (error: unknown): void => onWarning(warning(error));
    const tried = untilDone(() => this.#inTurn(work), { timer, signal, onOutage });
    await this.#running.add(
      tried.catch((error: unknown) => {
        if (!signal.aborted) onOutage(error);
      }),
    );
  }

  /** For work whose caller waits: its result. @throws the failure that time cannot mend, or the last one */
  async result<Result>(
    work: () => Promise<Result>,
    signal: AbortSignal,
    warning: (cause: unknown) => TurnlogError,
  ): Promise<Result> {
    const { timer, onWarning } = this.#options;
    const onOutage = (error: unknown): void => onWarning(warning(error));
    using ends = firstAbort(this.#closing.signal, signal);
    return await untilDone(work, { timer, signal: ends.signal, onOutage });
  }

  /** For work that was tried once, and is not tried again since this is closed. */
  warn(error: TurnlogError): void {
    this.#options.onWarning(error);
  }

  /** Resolves when nothing is tried any more. */
  async settled(): Promise<void> {
    await this.#running.settled();
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#free === 0) await new Promise<void>((free) => this.#waiting.push(free));
    else this.#free--;
    try {
      if (!this.isClosed) await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

// Promises that have not settled, for a `close` that waits for them.

export class Unfinished {
  readonly #promises = new Set<Promise<unknown>>();

  async add<Result>(promise: Promise<Result>): Promise<Result> {
    this.#promises.add(promise);
    return await promise.finally(() => this.#promises.delete(promise));
  }

  /** Resolves when those that were added before have settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#promises);
  }
}
