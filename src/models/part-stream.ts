/** Makes the stream of `doStream`. A part is made only when it is read; an abort ends the wait for it at once. */
import { onAbort } from "../shared/index.ts";
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
  leave: () => void,
): Promise<T> {
  if (signal === undefined) return start();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => {
    leave();
    reject(signal.reason);
  });
  return await (signal.aborted ? aborted : Promise.race([start(), aborted]));
}
