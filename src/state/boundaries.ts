/**
 * The past that a rewind needs: the states at the boundaries between turns, and the finished items of all
 * branches. It is part of the session's state, so that its fold needs no I/O. Boundaries share unchanged parts.
 * Pure.
 */

import { byId, type PositionRange, type SessionEvent, isRecord } from "../events/index.ts";
import {
  branchStates,
  history,
  sessionProjections,
  type BranchStates,
  type HistoryItem,
  type ProjectedState,
} from "../projections/index.ts";
import { isBetweenTurns, isWaiting, type MachineStep } from "../machines/index.ts";
import { difference, restored, type Difference } from "./difference.ts";

/** A range of positions between two turns, over which no state of the branch changed: at rest, or where one ended. */
export interface Boundary extends BranchStates {
  readonly from: number;
  readonly to: number;
  /** The last turn of the branch; 0 before the first. */
  readonly turn: number;
  /** The digest of the agent; absent before it is known. */
  readonly agent?: string;
}

export interface BoundariesState {
  /** Finished items of all branches, oldest first: those of the history until the first rewind. */
  readonly items: readonly HistoryItem[];
  /** Boundaries that were left, oldest first. */
  readonly passed: readonly Boundary[];
  /** The first position of the boundary at which the session is; 0 if it is at none. */
  readonly from: number;
}

export const initialBoundaries: BoundariesState = {
  // The very list of the history: the two are one until a rewind.
  items: history.initial.items,
  passed: [],
  from: 0,
};

export interface BoundaryStates extends ProjectedState {
  readonly position: number;
  readonly machine: MachineStep["snapshot"];
}

/** Whether the session is between two turns, and nothing runs or is about to: its head can be moved. */
export function isAtBoundary({ machine, history }: BoundaryStates): boolean {
  return isWaiting(machine) && history.open === undefined && history.note === undefined;
}

/** Whether a turn or a compaction ended, though the next turn begins at once: its messages wait already. */
function hasEnded(before: BoundaryStates, after: BoundaryStates): boolean {
  return isBetweenTurns(after.machine) && !isBetweenTurns(before.machine);
}

/** The boundary at which the session is; undefined during a turn. */
export function currentBoundary(
  state: BoundaryStates,
  { from }: BoundariesState,
): Boundary | undefined {
  if (from === 0) return undefined;
  const { position: to, history, summary } = state;
  const { agentDigest: agent } = summary;
  const known = { from, to, turn: history.turn, ...branchStates(state) };
  return { ...known, ...(agent === undefined ? {} : { agent }) };
}

export function withBoundary(
  state: BoundariesState,
  before: BoundaryStates,
  after: BoundaryStates,
  { type, position }: SessionEvent,
): BoundariesState {
  const items = grown(state.items, before.history.items, after.history.items);
  const isHere = isAtBoundary(after) || hasEnded(before, after);
  const isSame = isHere && state.from !== 0 && !hasChanged(before, after);
  const from = isSame ? state.from : isHere ? position : 0;
  const left = isSame ? undefined : currentBoundary(before, state);
  const passed = left === undefined ? state.passed : [...state.passed, left];
  // The bills before a trim include what it removed.
  if (type === "session.thinned" && after.view.changed === position)
    return { items, passed: passed.map((one) => changedAt(one, position)), from };
  return items === state.items && passed === state.passed && from === state.from
    ? state
    : { items, passed, from };
}

function changedAt(boundary: Boundary, changed: number): Boundary {
  return { ...boundary, view: { ...boundary.view, changed } };
}

const branchNames = Object.keys(sessionProjections).filter(isBranchName);

function isBranchName(name: string): name is keyof BranchStates {
  return name !== "history" && byId(sessionProjections, name)?.follows === "branch";
}

function hasChanged(before: BoundaryStates, after: BoundaryStates): boolean {
  return (
    branchNames.some((name) => before[name] !== after[name]) ||
    before.summary.agentDigest !== after.summary.agentDigest ||
    before.history.items !== after.history.items ||
    before.history.turn !== after.history.turn
  );
}

/** All items, when those of the active branch have changed. */
function grown(
  all: readonly HistoryItem[],
  before: readonly HistoryItem[],
  after: readonly HistoryItem[],
): readonly HistoryItem[] {
  if (before === after) return all;
  if (all === before) return after;
  if (after.length > before.length) return all.concat(after.slice(before.length));
  const changes = new Map(
    before.flatMap((item, index) => {
      const now = after[index];
      return now === undefined || now === item ? [] : [[item, now] as const];
    }),
  );
  return all.map((item) => changes.get(item) ?? item);
}

/** The boundary that a position belongs to; undefined if a turn ran there. */
export function boundaryAt(
  state: BoundaryStates & { readonly boundaries: BoundariesState },
  position: number,
): Boundary | undefined {
  const current = currentBoundary(state, state.boundaries);
  if (current !== undefined && position >= current.from) {
    return position <= current.to ? current : undefined;
  }
  const { passed } = state.boundaries;
  const found = passed.findLast(({ from }) => from <= position);
  return found !== undefined && position <= found.to ? found : undefined;
}

/** The items at the positions of a branch. Both lists are in the order of the log. */
export function itemsOn(
  items: readonly HistoryItem[],
  spans: readonly PositionRange[],
): readonly HistoryItem[] {
  const [first] = spans;
  // One range to the end: no branch was left.
  if (spans.length === 1 && first?.to === Infinity) return items;
  let index = 0;
  return items.filter((item) => {
    while ((spans[index]?.to ?? Infinity) < item.position) index += 1;
    return (spans[index]?.from ?? Infinity) <= item.position;
  });
}

// Each boundary differs little from the one before it, so only the difference is stored, and the size of a snapshot
// is linear in the number of events. Pure.

export function storedBoundaries(
  boundaries: readonly Boundary[],
  last: Boundary | undefined,
): readonly Difference[] {
  return boundaries.map((boundary, index) => difference(boundary, boundaries[index - 1] ?? last));
}

/** The boundaries of all chunks, oldest first; undefined if a part is missing. */
export function readBoundaries(
  earlier: readonly Boundary[],
  stored: readonly Difference[],
): readonly Boundary[] | undefined {
  const read = [...earlier];
  for (const one of stored) {
    const boundary = restored(read.at(-1), one);
    if (!isBoundary(boundary)) return undefined;
    read.push(boundary);
  }
  return read;
}

/** A stored snapshot is our own and has a checksum: only its outline is checked. */
function isBoundary(value: unknown): value is Boundary {
  return (
    isRecord(value) &&
    [value["from"], value["to"], value["turn"]].every(Number.isSafeInteger) &&
    branchNames.every((name) => isRecord(value[name]))
  );
}
