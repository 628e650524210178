/** What an append and a fork must fulfil before they are queued, and the errors if they do not. */

import {
  idOf,
  type NewEvent,
  TurnlogError,
  type ExpectedRevision,
  type ForkEvents,
  type ForkPoint,
  forkPointSchema,
} from "../../events/index.ts";
import { deletedError } from "./log-errors.ts";

/** What the rules read of a session. */
export interface KnownSession {
  readonly session: string;
  /** The last position, 0 if the session does not exist. */
  readonly revision: number;
  readonly isDeleted: boolean;
}

export function hasIds(events: readonly NewEvent[]): boolean {
  for (const event of events) if (idOf(event) !== undefined) return true;
  return false;
}

export function checkRevision(
  { session, revision }: Pick<KnownSession, "session" | "revision">,
  expected: ExpectedRevision,
): void {
  if (expected === "any" || expected === revision) return;
  if (expected === "none" ? revision === 0 : expected === "exists" && revision > 0) return;
  throw new TurnlogError(
    "REVISION_CONFLICT",
    `Session ${session} is at position ${revision}, but the append expected ${expected}. Read the events since then, decide again, and append with the new position.`,
    { session, position: revision, details: { expected, actual: revision } },
  );
}

/** Checks a fork's first event as any input from outside. */
export function forkPoint(session: string, [first]: ForkEvents): ForkPoint {
  const from = forkPointSchema.safeParse(first?.data?.from);
  if (first?.type === "session.forked" && from.success) return from.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The first event of the fork ${session} must be \`session.forked\`, with the session and the position that it branches off.`,
    { session, cause: from.error },
  );
}

export function checkForkPoint(
  parent: KnownSession,
  { position }: ForkPoint,
  session: string,
): void {
  if (parent.isDeleted) throw deletedError(parent.session);
  if (parent.revision === 0) {
    throw new TurnlogError(
      "SESSION_NOT_FOUND",
      `${session} cannot be a fork of ${parent.session}: there is no such session. \`turnlog sessions\` lists the existing ones.`,
      { session: parent.session },
    );
  }
  if (position <= parent.revision) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${parent.session} has the positions 1 to ${parent.revision}; ${session} cannot be a fork of it at ${position}.`,
    { session: parent.session, position },
  );
}

export function nothingToAppend({ session }: Pick<KnownSession, "session">): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `An append to ${session} has no events; append at least one.`,
    { session },
  );
}

export function idConflict(
  { session }: Pick<KnownSession, "session">,
  why: string,
  ids: readonly string[],
): TurnlogError {
  return new TurnlogError(
    "EVENT_ID_CONFLICT",
    `An append to ${session} was refused: ${why}. Append exactly the events of the first attempt, or give new ones new ids.`,
    { session, details: { ids } },
  );
}

// Appends to a session that wait, in the order of their calls.

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

// Remembers the writers whose append was refused: their later appends would build on events that are missing.

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
    `This append to session ${session} follows one that was refused. Read the events since then, decide again, and append as a new writer.`,
    { session, cause },
  );
}
