/** What an activation waits for: rows of the session that are still being written, and changes to stored sessions. */
export class ActivationWaits {
  readonly #sessions = new Map<string, Promise<unknown>>();
  /** A change during which no session may be activated: content being redacted must be in no memory. */
  #exclusive: Promise<unknown> | undefined;

  /** Activations of the session wait until `until` has settled. */
  add(session: string, until: Promise<unknown>): void {
    const before = this.#sessions.get(session);
    const waiting = Promise.allSettled([before, until]).then(() => {
      if (this.#sessions.get(session) === waiting) this.#sessions.delete(session);
    });
    this.#sessions.set(session, waiting);
  }

  /** What holds the session back now. Undefined: nothing, so it may be activated before the next await. */
  of(session: string): Promise<unknown> | undefined {
    return this.#sessions.get(session) ?? this.#exclusive?.catch(() => {});
  }

  /** What holds any session back now. */
  any(): Promise<unknown> | undefined {
    if (this.#sessions.size === 0 && this.#exclusive === undefined) return undefined;
    return Promise.allSettled([...this.#sessions.values(), this.#exclusive]);
  }

  /** Activations of all sessions wait for `change`. Call it while nothing holds any session back. */
  async exclusively<Result>(change: Promise<Result>): Promise<Result> {
    this.#exclusive = change;
    try {
      return await change;
    } finally {
      this.#exclusive = undefined;
    }
  }

  /** Resolves when the rows of passivated sessions are written. */
  async written(): Promise<void> {
    await Promise.all(this.#sessions.values());
  }
}
