/** Appends to a session that wait, in the order of their calls. */

/** What a log keeps of a session whose appends wait. */
interface Waited {
  /** Settles when the session is read from the store. */
  readonly loaded: Promise<void>;
  /** Settles when every waiting append has its positions. */
  line: Promise<void>;
  waiting: number;
}

export class AppendLine {
  readonly #waiting = new Set<Promise<unknown>>();

  /**
   * Runs `act` when the session is read and all earlier appends to it have their positions. Its answer is wrapped, so
   * that the line continues when the append is queued, not when it is written.
   */
  async run<Result>(
    head: Waited,
    act: () => Promise<{ readonly appended: Result | Promise<Result> }>,
  ): Promise<Result> {
    head.waiting++;
    const queued = head.line.then(async () => {
      await head.loaded;
      return await act();
    });
    // The error goes to the caller of `append`; it does not concern the appends behind it.
    head.line = queued.then(
      () => undefined,
      () => undefined,
    );
    this.#waiting.add(queued);
    const { appended } = await queued.finally(() => {
      head.waiting--;
      this.#waiting.delete(queued);
    });
    return await appended;
  }

  /** Resolves when every append that waits has its positions or was refused. */
  async settled(): Promise<void> {
    while (this.#waiting.size > 0) await Promise.allSettled(this.#waiting);
  }
}
