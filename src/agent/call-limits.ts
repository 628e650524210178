/** The time limits of a model call: until its first token, between tokens, and in all. */

import { onAbort, type ModelLimit, type Timer } from "../shared/index.ts";

/** Milliseconds. An absent limit means no limit. */
export interface CallLimits {
  readonly firstTokenMs?: number;
  readonly betweenTokensMs?: number;
  readonly callMs?: number;
}

interface CallWatchOptions {
  readonly signal: AbortSignal;
  readonly timer: Timer;
}

/** Watches one call. Its signal aborts with a `TimeoutError` when a limit is exceeded, or with the outer signal. */
export class CallWatch implements Disposable {
  readonly #limits: CallLimits;
  // Not `AbortSignal.any`: its `aborted` is read at each part, and is slower.
  readonly #stop = new AbortController();
  readonly #outer: Disposable;
  readonly #timer: Timer;
  readonly #whole: Disposable | undefined;
  #next: Disposable | undefined;
  #lateness: DOMException | undefined;

  constructor(limits: CallLimits, { signal, timer }: CallWatchOptions) {
    this.#limits = limits;
    this.#timer = timer;
    this.#outer = onAbort(signal, () => {
      this.#stop.abort(signal.reason);
    });
    this.#whole = this.#expire(limits.callMs, "the whole call");
    this.#next = this.#expire(limits.firstTokenMs, "the first token");
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lateness(): DOMException | undefined {
    return this.#lateness;
  }

  token(): void {
    this.#next?.[Symbol.dispose]();
    this.#next = this.#expire(this.#limits.betweenTokensMs, "the next token");
  }

  [Symbol.dispose](): void {
    this.#outer[Symbol.dispose]();
    this.#whole?.[Symbol.dispose]();
    this.#next?.[Symbol.dispose]();
  }

  #expire(limitMs: number | undefined, limit: ModelLimit): Disposable | undefined {
    if (limitMs === undefined) return undefined;
    const due = (): void => {
      const message = `The model took longer than ${limitMs} ms for ${limit}.`;
      if (this.signal.aborted) return;
      this.#lateness = new DOMException(message, "TimeoutError");
      this.#stop.abort(this.#lateness);
    };
    return this.#timer(limitMs, due, { kind: "model", limit });
  }
}
