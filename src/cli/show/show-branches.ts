/** The branches of a session: each on one line, and marks of what is not on the active one. Pure. */

import { leftBranches, type HistoryItem } from "../../projections/index.ts";
import type { SessionBranch, SessionState } from "../../state/index.ts";
import { amount, dateAndTime } from "../wording/wording.ts";

/** `*` marks the active branch. */
export function branchLine({ id, turns, lastAt, active, forkedAt }: SessionBranch): string {
  const from = forkedAt === undefined ? "" : `, from position ${forkedAt}`;
  const last = lastAt === undefined ? "" : `, last ${dateAndTime(lastAt)}`;
  return `${active ? "*" : " "} ${id}: ${amount(turns, "turn")}${from}${last}`;
}

export type LeftAt = (position: number) => number | undefined;

/** The history of all branches, in the order of the log. */
export function allItems({ boundaries, branches, history }: SessionState): readonly HistoryItem[] {
  const leftAt = leftBranches(branches);
  const left = boundaries.items.filter(({ position }) => leftAt(position) !== undefined);
  const active = history.open === undefined ? history.items : [...history.items, history.open];
  return [...left, ...active].toSorted((one, other) => one.position - other.position);
}

/** Adds `leftBranch` to an event or an item that is off the active branch. */
export function withLeftBranch<Value extends { readonly position: number }>(
  value: Value,
  leftAt: LeftAt,
): Value & { readonly leftBranch?: number } {
  const leftBranch = leftAt(value.position);
  return leftBranch === undefined ? value : { ...value, leftBranch };
}

/** Marks a line whose event is off the active branch. */
export function leftMark(position: number, leftAt: LeftAt): string {
  const branch = leftAt(position);
  return branch === undefined ? "" : `[left: branch ${branch}] `;
}
