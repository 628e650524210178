/** A stream of the items of an iterable, as `ReadableStream.from`, which the types of browsers do not have. */
export function streamOf<Item>(items: AsyncIterable<Item>): ReadableStream<Item> {
  const iterator = items[Symbol.asyncIterator]();
  return new ReadableStream<Item>(
    {
      async pull(controller) {
        const next = await iterator.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel(reason) {
        await iterator.return?.(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
