/** The branches of a session as a list. Pure. */

import { defined } from "../events/index.ts";
import { headOf, spansUpTo } from "../projections/index.ts";
import { itemsOn } from "./boundaries.ts";
import type { SessionState } from "./session-state.ts";
import type { EventLog, ForkPoint } from "../events/index.ts";

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
  const { branches, boundaries, position, history } = state;
  const active = branches.switches.at(-1)?.branch;
  return branches.all.map(({ id, parent, forkedAt }) => {
    const head = headOf(branches, id, position);
    const spans = spansUpTo(branches, head);
    const items = itemsOn(boundaries.items, spans);
    const turns = new Set(items.flatMap(({ kind, turn }) => (kind === "note" ? [] : [turn])));
    if (id === active && history.open !== undefined) turns.add(history.turn);
    const lastAt = items.at(-1)?.time;
    return {
      id,
      head,
      ...defined({ parent, forkedAt }),
      turns: turns.size,
      ...(lastAt === undefined ? {} : { lastAt }),
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
