/** Promises that have not settled, for a `close` that waits for them. */

export class Unfinished {
  readonly #promises = new Set<Promise<unknown>>();

  async add<Result>(promise: Promise<Result>): Promise<Result> {
    this.#promises.add(promise);
    return await promise.finally(() => this.#promises.delete(promise));
  }

  /** Resolves when those that were added before have settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#promises);
  }
}
