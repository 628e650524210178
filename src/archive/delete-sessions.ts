/** Deletes old sessions: first a plan from the list of sessions, then one session after another. */

import { TurnlogError, type EventLog, type JsonObject } from "../events/index.ts";
import { differentKey, listSessions, type ListedSession } from "../state/index.ts";

/** Which sessions are deleted, with their sub-agents. At least one of `olderThan` and `where`. */
export interface DeletionQuery {
  /**
   * Only sessions without an event since then, of their sub-agents too: a Date, or an ISO time with its zone.
   */
  readonly olderThan?: Date | string;
  /** Only sessions whose metadata have these values. */
  readonly where?: JsonObject;
  /**
   * Sessions whose events a fork shares that stays: `refuse` (default) keeps them, `copy` first copies the
   * shared events into the fork.
   */
  readonly forks?: "refuse" | "copy";
  /** Cancel turns that run or wait, and withdraw messages that wait. Default: false, such sessions stay. */
  readonly cancel?: boolean;
  /** Whether their spending stays in `runtime.bill`. Default: `keep`. */
  readonly bill?: "keep" | "forget";
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
  /** Sessions that match and stay, each with the reason. */
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
  for (const { root, members } of plan.sessions) {
    const { session } = root;
    try {
      if (!dryRun) await deleteOne(session);
      for (const { session: name, revision, updatedAt } of members)
        deleted.push({ session: name, revision, updatedAt });
    } catch (error) {
      if (!TurnlogError.isInstance(error) || error.code === "RUNTIME_CLOSED") throw error;
      kept.push({ session, error });
    }
  }
  return { dryRun, deleted, kept };
}

interface DeletionPlan {
  readonly sessions: readonly Family[];
  readonly kept: readonly KeptFromDeletion[];
}

/** A session with its sub-agents, theirs included. */
interface Family {
  readonly root: ListedSession;
  readonly members: readonly ListedSession[];
}

/** Pure. A session goes with its sub-agents or stays with them, so they are not looked at by themselves. */
function deletionPlan(
  rows: readonly ListedSession[],
  { olderThan, where, forks = "refuse", cancel = false }: DeletionQuery,
): DeletionPlan {
  const before = olderThan === undefined ? Infinity : new Date(olderThan).getTime();
  const byName = new Map(rows.map((row) => [row.session, row]));
  const parentOf = ({ parent }: ListedSession): ListedSession | undefined =>
    parent && byName.get(parent.session);
  const rootOf = (row: ListedSession): string => {
    const parent = parentOf(row);
    return parent === undefined ? row.session : rootOf(parent);
  };
  const chosen = new Map<string, Family>();
  for (const [name, members] of Map.groupBy(rows, rootOf)) {
    const root = byName.get(name);
    const isOld = members.every(({ updatedAt }) => updatedAt < before);
    if (root !== undefined && isOld && differentKey(root.metadata, where) === undefined)
      chosen.set(name, { root, members });
  }
  const kept: KeptFromDeletion[] = [];
  const keep = (session: string, error: TurnlogError): void => {
    chosen.delete(session);
    kept.push({ session, error });
  };
  for (const [name, { members }] of chosen) {
    const [why] = members.flatMap((member) => refusal(name, member, cancel) ?? []);
    if (why !== undefined) keep(name, why);
  }
  // A session that stays keeps the one whose events it shares, and that one its own origin.
  const originOf = ({ forkedFrom }: ListedSession): ListedSession | undefined =>
    forkedFrom && byName.get(forkedFrom.session);
  const staying = forks === "copy" ? [] : rows.filter((row) => !chosen.has(rootOf(row)));
  for (const fork of staying) {
    for (let origin = originOf(fork); origin !== undefined; origin = originOf(origin)) {
      const name = rootOf(origin);
      const family = chosen.get(name);
      if (family === undefined) continue;
      keep(name, shared(name, fork.session));
      staying.push(...family.members);
    }
  }
  const depth = (row: ListedSession): number => {
    const origin = originOf(row);
    if (origin !== undefined) return depth(origin) + 1;
    const parent = parentOf(row);
    return parent === undefined ? 0 : depth(parent);
  };
  const sessions = [...chosen.values()].toSorted(
    (one, other) => depth(other.root) - depth(one.root),
  );
  return { sessions, kept };
}

/** Why a session stays: its own reason, or that of one of its sub-agents. */
function refusal(
  session: string,
  { session: member, status, waiting, problem }: ListedSession,
  mayCancel: boolean,
): TurnlogError | undefined {
  const isOwn = member === session;
  if (problem !== undefined) {
    const { code, message } = problem;
    const whose = isOwn ? "it" : `its sub-agent ${member}`;
    return new TurnlogError(
      code,
      `Session ${session} was not deleted, since ${whose} cannot be read: ${message} Delete it by its name.`,
      { session },
    );
  }
  if (mayCancel) return undefined;
  const why =
    waiting !== undefined
      ? `Messages wait in ${isOwn ? "it" : `its sub-agent ${member}`}: withdraw them`
      : status === "idle" || status === "closed"
        ? undefined
        : `${isOwn ? "It" : `Its sub-agent ${member}`} is in a turn: wait, or cancel it`;
  if (why === undefined) return undefined;
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} was not deleted. ${why}, or delete with \`cancel: true\` (\`--cancel\`).`,
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
