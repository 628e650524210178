/** Waiting for a model that may not heed its abort signal: when the signal aborts, the wait is over. */

/** The promise's value, or a rejection with the signal's reason as soon as it aborts. */
export async function unlessAborted<Value>(
  promise: PromiseLike<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The stream's parts; none come any more once the signal aborts. Costs nothing for each part. */
export function untilAborted<Part>(
  stream: AsyncIterable<Part>,
  signal: AbortSignal,
): AsyncIterable<Part> {
  const iterator = stream[Symbol.asyncIterator]();
  const leave = async (): Promise<void> => {
    try {
      await iterator.return?.();
    } catch (error) {
      // A stream that fails while it is being closed has nothing more to say that would be kept.
      void error;
    }
  };
  if (signal.aborted) void leave();
  else signal.addEventListener("abort", () => void leave(), { once: true });
  return { [Symbol.asyncIterator]: () => iterator };
}
