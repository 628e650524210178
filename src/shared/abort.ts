/** Waits that end when a signal aborts, even if the awaited model or tool ignores the signal. */

/** Rejects with the signal's reason as soon as it aborts. `release` gets a value that comes later. */
export async function unlessAborted<Value>(
  promise: PromiseLike<Value>,
  signal: AbortSignal,
  release: (late: Value) => void = () => {},
): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => {
    aborted.reject(signal.reason);
    // A late failure has nothing to release.
    promise.then(release, () => {});
  });
  return await Promise.race([promise, aborted.promise]);
}

/** The stream's parts until the signal aborts. No cost for each part. */
export function untilAborted<Part>(
  stream: AsyncIterable<Part>,
  signal: AbortSignal,
): AsyncIterable<Part> & Disposable {
  const iterator = stream[Symbol.asyncIterator]();
  const leave = async (): Promise<void> => {
    try {
      await iterator.return?.();
    } catch (error) {
      void error;
    }
  };
  const watch = onAbort(signal, () => void leave());
  return {
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

export function defer(release: () => void): Disposable {
  return { [Symbol.dispose]: release };
}

/**
 * A signal that aborts with the first of several, for work that ends before they do: once it is disposed of, they
 * hold nothing of that work. `AbortSignal.any` stays on a long signal for as long as anything listens to it.
 */
export function firstAbort(...signals: readonly (AbortSignal | undefined)[]): FirstAbort {
  const first = new AbortController();
  const watches: Disposable[] = [];
  for (const signal of signals) watches.push(onAbort(signal, () => first.abort(signal?.reason)));
  return {
    signal: first.signal,
    [Symbol.dispose]: () => {
      for (const watch of watches.splice(0)) watch[Symbol.dispose]();
    },
  };
}

export interface FirstAbort extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Calls `tell` when the signal aborts, or at once if it did; not after it was disposed of. The signal may live longer
 * than its listener: dispose of the watch when what it is for has ended. Without a signal it does nothing.
 */
export function onAbort(signal: AbortSignal | undefined, tell: () => void): Disposable {
  if (signal?.aborted === true) tell();
  else signal?.addEventListener("abort", tell, { once: true });
  return defer(() => {
    signal?.removeEventListener("abort", tell);
  });
}
