/**
 * The open answers and connections, so that they end when the server is closed, and when their client may no
 * longer have them: each is asked about again from time to time, and at once after `revoke`.
 */

/** Of which clients the permission has changed. Each field that is given must be that of the client. */
export interface Revoked {
  readonly actor?: string;
  readonly tenant?: string;
}

interface OpenAnswer {
  readonly client: Revoked;
  readonly ending: AbortController;
  /** Whether the client may still have it. Never rejects. */
  readonly ask: () => Promise<boolean>;
}

/** An open answer: its signal ends it, with the reason as text. */
export interface Admitted extends Disposable {
  readonly ends: AbortSignal;
}

/** Milliseconds after which each answer is asked about again, also one without any event. */
const ASK_MS = 30_000;

export class OpenAnswers {
  readonly #answers = new Set<OpenAnswer>();
  #asking: NodeJS.Timeout | undefined;
  #closed: string | undefined;

  admit(client: Revoked, ask: OpenAnswer["ask"]): Admitted {
    const answer = { client, ending: new AbortController(), ask };
    this.#answers.add(answer);
    if (this.#closed !== undefined) this.#end(answer, this.#closed);
    else this.#asking ??= setInterval(() => void this.revoke({}), ASK_MS).unref();
    return {
      ends: answer.ending.signal,
      [Symbol.dispose]: () => {
        this.#forget(answer);
      },
    };
  }

  #forget(answer: OpenAnswer): void {
    this.#answers.delete(answer);
    if (this.#answers.size > 0) return;
    clearInterval(this.#asking);
    this.#asking = undefined;
  }

  /** Its client may never read that it ended, and is not asked about again. */
  #end(answer: OpenAnswer, reason: string): void {
    answer.ending.abort(reason);
    this.#forget(answer);
  }

  /** Ends the answers of these clients that are no longer permitted. Resolves when each was asked about. */
  async revoke({ actor, tenant }: Revoked): Promise<void> {
    const meant = [...this.#answers].filter(
      ({ client }) =>
        (actor === undefined || client.actor === actor) &&
        (tenant === undefined || client.tenant === tenant),
    );
    await Promise.all(
      meant.map(async (answer) => {
        if (!(await answer.ask())) this.#end(answer, "the permission for it has ended");
      }),
    );
  }

  /** Those that begin later end at once too. */
  close(reason: string): void {
    this.#closed = reason;
    for (const answer of this.#answers) this.#end(answer, reason);
  }
}
