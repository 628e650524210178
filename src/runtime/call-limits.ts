/** The time that a model call may take: until its first token, between two of them, and in all. */

/** Milliseconds; a limit that is absent does not hold. */
export interface CallLimits {
  readonly firstTokenMs?: number;
  readonly betweenTokensMs?: number;
  readonly callMs?: number;
}

/** Watches one call. Its signal aborts with a `TimeoutError` when a limit is passed, or with the outer one. */
export class CallWatch implements Disposable {
  readonly #limits: CallLimits;
  readonly #late = new AbortController();
  readonly #whole: NodeJS.Timeout | undefined;
  #next: NodeJS.Timeout | undefined;
  readonly signal: AbortSignal;

  constructor(limits: CallLimits, outer: AbortSignal) {
    this.#limits = limits;
    this.signal = AbortSignal.any([outer, this.#late.signal]);
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
    clearTimeout(this.#next);
    this.#next = this.#expire(this.#limits.betweenTokensMs, "the next token");
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#next);
  }

  #expire(limitMs: number | undefined, what: string): NodeJS.Timeout | undefined {
    if (limitMs === undefined) return undefined;
    return setTimeout(() => {
      const message = `The model took longer than ${limitMs} ms for ${what}.`;
      this.#late.abort(new DOMException(message, "TimeoutError"));
    }, limitMs);
  }
}
