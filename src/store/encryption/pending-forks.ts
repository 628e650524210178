/**
 * Keeps forks and the deletion of the session that they branch off apart: a deletion gives its forks
 * what they share, so that none may come in the middle of it. Neither holds the other's line.
 */

import type { AppendLines } from "./append-lines.ts";

export class ForksUnderWay {
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #making = new Map<string, Set<Promise<unknown>>>();

  /** Makes a fork of a session, behind those who are in its line and when it is not being deleted. */
  async making<Result>(
    from: string,
    lines: AppendLines,
    make: () => Promise<Result>,
  ): Promise<Result> {
    await lines.turn(from);
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

  /** Does away with a session, when the forks of it that are under way are made. */
  async leaving<Result>(session: string, act: () => Promise<Result>): Promise<Result> {
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
