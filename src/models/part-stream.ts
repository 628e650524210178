/** Makes the stream of `doStream`. A part is made only when it is read; an abort ends the wait for it at once. */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** An aborted signal breaks the stream with its reason. */
export function streamParts(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const iterator = parts[Symbol.asyncIterator]();
  // Not awaited: a part that never comes must not block the reader's cancellation.
  const leave = () => void iterator.return?.();
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        const next = await unlessAborted(() => iterator.next(), signal, leave);
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}

async function unlessAborted<T>(
  start: () => Promise<T>,
  signal: AbortSignal | undefined,
  onAbort: () => void,
): Promise<T> {
  if (signal === undefined) return start();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => {
    onAbort();
    reject(signal.reason);
  };
  if (signal.aborted) {
    abort();
    return aborted;
  }
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([start(), aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
