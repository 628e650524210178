/** The time that a model call may take: until its first token, between two of them, and in all. */

import { onAbort, type ModelLimit, type Timer } from "../shared/index.ts";

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
  // Not `AbortSignal.any`: whether it has aborted is asked at each part, and such a one has to ask others.
  readonly #stop = new AbortController();
  readonly #outer: Disposable;
  readonly #timer: Timer;
  readonly #whole: Disposable | undefined;
  #next: Disposable | undefined;
  #lateness: DOMException | undefined;

  constructor(limits: CallLimits, { signal, timer }: Watched) {
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

  /** Why the call was stopped, when it was this watch that stopped it. */
  get lateness(): DOMException | undefined {
    return this.#lateness;
  }

  /** The model has said something. */
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
