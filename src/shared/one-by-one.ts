/** Hands out the items of pages one by one: a generator would wait three times for each, this waits once. */
export class OneByOne<Item extends object | string> implements AsyncIterableIterator<Item> {
  readonly #pages: AsyncIterator<readonly Item[]>;
  #page: readonly Item[] = [];
  #at = 0;
  /** Whether a page comes that was asked for. All calls that come meanwhile wait for it, in their order. */
  #turning: Promise<boolean> | undefined;

  constructor(pages: AsyncIterable<readonly Item[]>) {
    this.#pages = pages[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #turn(): Promise<boolean> {
    try {
      const next = await this.#pages.next();
      if (next.done === true) return false;
      this.#page = next.value;
      this.#at = 0;
      return true;
    } finally {
      this.#turning = undefined;
    }
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    const value = this.#page[this.#at];
    if (value !== undefined) {
      this.#at += 1;
      return Promise.resolve({ value, done: false });
    }
    this.#turning ??= this.#turn();
    return this.#turning.then((isTurned) =>
      isTurned ? this.next() : { value: undefined, done: true },
    );
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#page = [];
    await this.#pages.return?.();
    return { value: undefined, done: true };
  }
}
