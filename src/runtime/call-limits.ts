/** The time that a model call may take: until its first token, between two of them, and in all. */

import { onAbort } from "./defer.ts";

/** Milliseconds; a limit that is absent does not hold. */
export interface CallLimits {
  readonly firstTokenMs?: number;
  readonly betweenTokensMs?: number;
  readonly callMs?: number;
}

/** Watches one call. Its signal aborts with a `TimeoutError` when a limit is passed, or with the outer one. */
export class CallWatch implements Disposable {
  readonly #limits: CallLimits;
  // Not `AbortSignal.any`: whether it has aborted is asked at each part, and such a one has to ask others.
  readonly #stop = new AbortController();
  readonly #outer: Disposable;
  readonly #whole: NodeJS.Timeout | undefined;
  #next: NodeJS.Timeout | undefined;
  #lateness: DOMException | undefined;

  constructor(limits: CallLimits, outer: AbortSignal) {
    this.#limits = limits;
    this.#outer = onAbort(outer, () => {
      this.#stop.abort(outer.reason);
    });
    this.#whole = this.#expire(limits.callMs, "the whole call");
    this.#next = this.#expire(limits.firstTokenMs, "the first token");
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Why the call was stopped, when it was this watch that stopped it. */
  get lateness(): DOMException | undefined {
    return this.#lateness;
  }

  /** The model has said something. */
  token(): void {
    clearTimeout(this.#next);
    this.#next = this.#expire(this.#limits.betweenTokensMs, "the next token");
  }

  [Symbol.dispose](): void {
    this.#outer[Symbol.dispose]();
    clearTimeout(this.#whole);
    clearTimeout(this.#next);
  }

  #expire(limitMs: number | undefined, what: string): NodeJS.Timeout | undefined {
    if (limitMs === undefined) return undefined;
    return setTimeout(() => {
      const message = `The model took longer than ${limitMs} ms for ${what}.`;
      if (this.signal.aborted) return;
      this.#lateness = new DOMException(message, "TimeoutError");
      this.#stop.abort(this.#lateness);
    }, limitMs);
  }
}
