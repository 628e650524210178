/**
 * Separates forks from the deletion of their parent: a deletion gives its forks the keys of shared
 * events, so no fork may begin during it. Neither blocks the appends of the other.
 */

import type { AppendLines } from "./append-lines.ts";

export class PendingForks {
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #making = new Map<string, Set<Promise<unknown>>>();

  /** Creates a fork, after the parent's waiting appends and not during its deletion. */
  async create<Result>(
    from: string,
    lines: AppendLines,
    make: () => Promise<Result>,
  ): Promise<Result> {
    await lines.waitFor(from);
    for (let gone = this.#leaving.get(from); gone !== undefined; gone = this.#leaving.get(from))
      await gone;
    const made = make();
    const settled = made.catch(() => {});
    const others = this.#making.get(from) ?? new Set();
    this.#making.set(from, others.add(settled));
    try {
      return await made;
    } finally {
      others.delete(settled);
      if (others.size === 0) this.#making.delete(from);
    }
  }

  /** Deletes a session, once its forks under way are created. */
  async deleteParent<Result>(session: string, act: () => Promise<Result>): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#leaving.set(session, promise);
    try {
      for (const made of this.#making.get(session) ?? []) await made;
      return await act();
    } finally {
      this.#leaving.delete(session);
      resolve();
    }
  }
}
