/** The branches of a session as a list, the line of sessions that it branches off, and what was erased of that line. */

import {
  defined,
  type EventLog,
  type ForkPoint,
  TurnlogError,
  type SessionEvent,
} from "../events/index.ts";
import { headOf, spansUpTo } from "../projections/index.ts";
import { itemsOn } from "./boundaries.ts";
import type { SessionState } from "./session-state.ts";

/** A branch of a session, in the list of `Session.branches`. */
export interface SessionBranch {
  /** The position of its first event; it never changes. */
  readonly id: number;
  readonly head: number;
  /** The branch that it left; absent for the first one. */
  readonly parent?: number;
  /** The last position that it shares with its parent. */
  readonly forkedAt?: number;
  /** The number of turns from the session's beginning to its head. */
  readonly turns: number;
  /** When its last turn or message came, in epoch milliseconds; absent for a session without one. */
  readonly lastAt?: number;
  readonly active: boolean;
}

/** All branches, oldest first. */
export function sessionBranches(state: SessionState): readonly SessionBranch[] {
  const { branches, boundaries, position } = state;
  const active = branches.switches.at(-1)?.branch;
  return branches.all.map(({ id, parent, forkedAt }) => {
    const head = headOf(branches, id, position);
    const spans = spansUpTo(branches, head);
    const items = itemsOn(boundaries.items, spans);
    const turns = new Set(items.flatMap(({ kind, turn }) => (kind === "note" ? [] : [turn])));
    return {
      id,
      head,
      ...defined({ parent, forkedAt, lastAt: items.at(-1)?.time }),
      turns: turns.size,
      active: id === active,
    };
  });
}

// Reads from the list of sessions where a session branches off.

/** Undefined for a session that is not a fork or does not exist. */
export async function linkOf(
  log: Pick<EventLog, "list">,
  session: string,
): Promise<ForkPoint | undefined> {
  // The first entry with this prefix is the session itself, if it exists.
  for await (const entry of log.list({ prefix: session })) {
    return entry.session === session ? entry.forkedFrom : undefined;
  }
  return undefined;
}

// Whether a kept fold may hold erased content. A session has events of the sessions that it branches off, and their
// erasure is an event of theirs, so every holder of a fold must check the whole line.

const erasing: ReadonlySet<SessionEvent["type"]> = new Set(["session.redacted", "session.thinned"]);

type LineLog = Pick<EventLog, "list" | "read" | "revision">;

/** The last known positions of a session and of those that it branches off. */
export type LineRevisions = Map<string, number>;

/** Ask before the fold begins: what is erased during the fold is found by the next question. */
export async function lineRevisions(log: LineLog, session: string): Promise<LineRevisions> {
  const revisions: LineRevisions = new Map();
  for (let id: string | undefined = session; id !== undefined && !revisions.has(id);) {
    revisions.set(id, await log.revision(id));
    id = (await linkOf(log, id))?.session;
  }
  return revisions;
}

/** Whether nothing of the line was erased or deleted since. Reads its new events, and notes their positions. */
export async function isUnerased(log: LineLog, revisions: LineRevisions): Promise<boolean> {
  try {
    for (const [id, before] of revisions) {
      const revision = await log.revision(id);
      if (revision < before) return false;
      if (revision === before) continue;
      for await (const { type } of log.read(id, { from: before + 1, to: revision }))
        if (erasing.has(type)) return false;
      revisions.set(id, revision);
    }
    return true;
  } catch (error) {
    // It is folded again, which shows what cannot be read.
    if (TurnlogError.isInstance(error)) return false;
    throw error;
  }
}
