/** Waiting for a model that may not heed its abort signal: when the signal aborts, the wait is over. */

/**
 * The promise's value, or a rejection with the signal's reason as soon as it aborts. What comes too
 * late is released.
 */
export async function unlessAborted<Value>(
  promise: PromiseLike<Value>,
  signal: AbortSignal,
  release: (late: Value) => void = () => {},
): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => {
    aborted.reject(signal.reason);
    // What fails too late has nothing to release, and nobody to tell.
    promise.then(release, () => {});
  });
  return await Promise.race([promise, aborted.promise]);
}

/** The stream's parts; none come any more once the signal aborts. Costs nothing for each part. */
export function untilAborted<Part>(
  stream: AsyncIterable<Part>,
  signal: AbortSignal,
): AsyncIterable<Part> & Disposable {
  const iterator = stream[Symbol.asyncIterator]();
  const leave = async (): Promise<void> => {
    try {
      await iterator.return?.();
    } catch (error) {
      // A stream that fails while it is being closed has nothing more to say that would be kept.
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

/** Tells of a signal's abort, at once when it was aborted before; not any more once it is disposed of. */
export function onAbort(signal: AbortSignal, tell: () => void): Disposable {
  if (signal.aborted) tell();
  else signal.addEventListener("abort", tell, { once: true });
  return defer(() => {
    signal.removeEventListener("abort", tell);
  });
}
