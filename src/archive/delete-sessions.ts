/** Deletes old sessions: first a plan from the list of sessions, then one session after the other. */

import { TurnlogError, type EventLog, type JsonObject } from "../events/index.ts";
import { differentKey, listSessions, type ListedSession } from "../state/index.ts";

/** Which sessions are deleted. At least one of `olderThan` and `where`. */
export interface DeletionQuery {
  /** Only sessions without an event since then: a Date, or an ISO time with its zone. */
  readonly olderThan?: Date | string;
  /** Only sessions whose metadata have these values. */
  readonly where?: JsonObject;
  /**
   * Sessions whose events a fork shares that stays: `refuse` (default) keeps them, `copy` first copies the
   * shared events into the fork.
   */
  readonly forks?: "refuse" | "copy";
  /** Tell what would be deleted, and delete nothing. Default: false. */
  readonly dryRun?: boolean;
}

/** A session that matches and stays, with the reason. */
interface KeptFromDeletion {
  readonly session: string;
  readonly error: TurnlogError;
}

/** What {@link Runtime.deleteSessions} did, or would do with `dryRun`. */
export interface DeletedSessions {
  readonly dryRun: boolean;
  /** The deleted sessions, forks before the sessions whose events they share. */
  readonly deleted: readonly Pick<ListedSession, "session" | "revision" | "updatedAt">[];
  /** Sessions that match and stay: a turn runs or waits, messages wait, forks share their events. */
  readonly kept: readonly KeptFromDeletion[];
}

/** Deletes the sessions of a query by `deleteOne`. One that cannot be deleted does not stop the others. */
export async function deleteSessions(
  log: EventLog,
  query: DeletionQuery,
  deleteOne: (session: string) => Promise<unknown>,
): Promise<DeletedSessions> {
  const { dryRun = false } = query;
  const plan = deletionPlan(await Array.fromAsync(listSessions(log)), query);
  const deleted: DeletedSessions["deleted"][number][] = [];
  const kept = [...plan.kept];
  for (const { session, revision, updatedAt } of plan.sessions) {
    try {
      if (!dryRun) await deleteOne(session);
      deleted.push({ session, revision, updatedAt });
    } catch (error) {
      if (!TurnlogError.isInstance(error) || error.code === "RUNTIME_CLOSED") throw error;
      kept.push({ session, error });
    }
  }
  return { dryRun, deleted, kept };
}

interface DeletionPlan {
  readonly sessions: readonly ListedSession[];
  readonly kept: readonly KeptFromDeletion[];
}

/** Pure. */
function deletionPlan(
  rows: readonly ListedSession[],
  { olderThan, where, forks = "refuse" }: DeletionQuery,
): DeletionPlan {
  const before = olderThan === undefined ? Infinity : new Date(olderThan).getTime();
  const matching = rows.filter(
    (row) => row.updatedAt < before && differentKey(row.metadata, where) === undefined,
  );
  const parents = new Map(rows.map(({ session, forkedFrom }) => [session, forkedFrom?.session]));
  const chosen = new Map(matching.map((row) => [row.session, row]));
  const kept: KeptFromDeletion[] = [];
  const keep = (session: string, error: TurnlogError): void => {
    chosen.delete(session);
    kept.push({ session, error });
  };
  for (const row of matching) {
    const why = refusal(row);
    if (why !== undefined) keep(row.session, why);
  }
  // A session that stays keeps the one whose events it shares, and that one its own parent.
  const staying = forks === "copy" ? [] : rows.filter(({ session }) => !chosen.has(session));
  for (const { session } of staying) {
    let parent = parents.get(session);
    for (; parent !== undefined; parent = parents.get(parent))
      if (chosen.has(parent)) keep(parent, shared(parent, session));
  }
  const depth = (session: string): number => {
    const parent = parents.get(session);
    return parent === undefined ? 0 : depth(parent) + 1;
  };
  const sessions = [...chosen.values()].toSorted(
    (one, other) => depth(other.session) - depth(one.session),
  );
  return { sessions, kept };
}

function refusal({ session, status, waiting, problem }: ListedSession): TurnlogError | undefined {
  if (problem !== undefined) {
    const { code, message } = problem;
    return new TurnlogError(
      code,
      `Session ${session} was not deleted, since it cannot be read: ${message} Delete it by its name.`,
      { session },
    );
  }
  const why =
    waiting !== undefined
      ? "Messages wait in it: withdraw them"
      : status === "idle" || status === "closed"
        ? undefined
        : "It is in a turn: wait, or cancel it";
  if (why === undefined) return undefined;
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} was not deleted. ${why}, or delete it by its name.`,
    { session },
  );
}

function shared(session: string, fork: string): TurnlogError {
  return new TurnlogError(
    "SESSION_HAS_FORKS",
    `Session ${session} was not deleted: fork ${fork} shares its events and stays. Delete with \`forks: "copy"\` to copy them first.`,
    { session, details: { forks: [fork] } },
  );
}
