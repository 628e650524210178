/** Remembers the writers whose append was refused: their later appends would build on events that are missing. */

import { TurnlogError } from "../../events/index.ts";

export class RefusedWriters {
  /** The first refusal of each writer in a session is the reason of all later ones. */
  readonly #reasons = new WeakMap<object, Map<string, unknown>>();

  /** Returns the error to throw. */
  remember(session: string, error: unknown, writer: object | undefined): unknown {
    if (writer === undefined) return error;
    const reasons = this.#reasons.get(writer) ?? new Map<string, unknown>();
    this.#reasons.set(writer, reasons);
    if (!reasons.has(session)) reasons.set(session, error);
    return error;
  }

  /** @throws TurnlogError if an append of the writer was refused before */
  assertNone(session: string, writer: object | undefined): void {
    const reasons = writer && this.#reasons.get(writer);
    if (reasons?.has(session)) throw refusedBefore(session, reasons.get(session));
  }
}

function refusedBefore(session: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "REVISION_CONFLICT",
    `This append to session ${session} follows one that was refused. Read the events since, decide again and append as a new writer.`,
    { session, cause },
  );
}
