/** Hands out the items of pages one by one: a generator would wait three times for each, this waits once. */
export class OneByOne<Item extends object | string> implements AsyncGenerator<Item, undefined> {
  readonly #pages: AsyncIterator<readonly Item[]>;
  #page: readonly Item[] = [];
  #at = 0;
  /** The page that was asked for. All calls that come meanwhile wait for it, in their order; the first turns it. */
  #turning: Promise<IteratorResult<readonly Item[], unknown>> | undefined;
  #isClosed = false;

  constructor(pages: AsyncIterable<readonly Item[]>) {
    this.#pages = pages[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    return this.#isClosed ? ended() : this.#take();
  }

  /** Also for calls that came before the end. */
  #take(): Promise<IteratorResult<Item, undefined>> {
    const value = this.#page[this.#at];
    if (value !== undefined) {
      this.#at += 1;
      return Promise.resolve({ value, done: false });
    }
    const isFirst = this.#turning === undefined;
    this.#turning ??= this.#pages.next();
    return this.#turning.then(
      (next) => {
        if (isFirst) {
          this.#turning = undefined;
          this.#page = next.done === true ? [] : next.value;
          this.#at = 0;
        }
        return next.done === true ? ended() : this.#take();
      },
      (error: unknown) => {
        if (!isFirst) return ended();
        this.#isClosed = true;
        throw error;
      },
    );
  }

  /** All that is left, by pages. */
  async *rest(): AsyncGenerator<readonly Item[]> {
    if (this.#at < this.#page.length) yield this.#page.slice(this.#at);
    yield* { [Symbol.asyncIterator]: () => this.#pages };
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#isClosed = true;
    this.#page = [];
    await this.#pages.return?.();
    return { value: undefined, done: true };
  }

  async throw(error: unknown): Promise<IteratorReturnResult<undefined>> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** Any items, by pages where they have some: waiting for each takes longer than most that is done with it. */
export async function* pagesOf<Item extends object | string>(
  items: Iterable<Item> | AsyncIterable<Item>,
): AsyncGenerator<Iterable<Item>> {
  if (Symbol.iterator in items) {
    yield items;
    return;
  }
  const iterator = items[Symbol.asyncIterator]();
  if (iterator instanceof OneByOne) yield* iterator.rest();
  else for await (const item of { [Symbol.asyncIterator]: () => iterator }) yield [item];
}

function ended(): Promise<IteratorReturnResult<undefined>> {
  return Promise.resolve({ value: undefined, done: true });
}
