/** The time that a model call may take: until its first token, between two of them, and in all. */

import type { ModelLimit, Timer } from "./timer.ts";

/** Milliseconds; a limit that is absent does not hold. */
export interface CallLimits {
  readonly firstTokenMs?: number;
  readonly betweenTokensMs?: number;
  readonly callMs?: number;
}

/** What a watch is kept over, and by which timer. */
interface Watched {
  readonly signal: AbortSignal;
  readonly timer: Timer;
}

/** Watches one call. Its signal aborts with a `TimeoutError` when a limit is passed, or with the outer one. */
export class CallWatch implements Disposable {
  readonly #limits: CallLimits;
  readonly #late = new AbortController();
  readonly #timer: Timer;
  readonly #whole: Disposable | undefined;
  #next: Disposable | undefined;
  readonly signal: AbortSignal;

  constructor(limits: CallLimits, { signal, timer }: Watched) {
    this.#limits = limits;
    this.#timer = timer;
    this.signal = AbortSignal.any([signal, this.#late.signal]);
    this.#whole = this.#expire(limits.callMs, "the whole call");
    this.#next = this.#expire(limits.firstTokenMs, "the first token");
  }

  /** Why the call was stopped, when it was this watch that stopped it. */
  get lateness(): unknown {
    const reason: unknown = this.#late.signal.reason;
    return reason;
  }

  /** The model has said something. */
  token(): void {
    this.#next?.[Symbol.dispose]();
    this.#next = this.#expire(this.#limits.betweenTokensMs, "the next token");
  }

  [Symbol.dispose](): void {
    this.#whole?.[Symbol.dispose]();
    this.#next?.[Symbol.dispose]();
  }

  #expire(limitMs: number | undefined, limit: ModelLimit): Disposable | undefined {
    if (limitMs === undefined) return undefined;
    const due = (): void => {
      const message = `The model took longer than ${limitMs} ms for ${limit}.`;
      this.#late.abort(new DOMException(message, "TimeoutError"));
    };
    return this.#timer(limitMs, due, { kind: "model", limit });
  }
}
