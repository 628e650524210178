/**
 * The past that a rewind needs: the states at the boundaries between turns, and the finished items of all
 * branches. It is part of the session's state, so that its fold needs no I/O. Boundaries share unchanged parts.
 * Pure.
 */

import { byId, type PositionRange, type SessionEvent } from "../events/index.ts";
import {
  branchStates,
  sessionProjections,
  type BranchStates,
  type HistoryItem,
  type ProjectedState,
  contextView,
  type ContextView,
} from "../projections/index.ts";
import { isBetweenTurns, isWaiting, type MachineStep } from "../machines/index.ts";
import { z } from "zod";

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

export const initialBoundaries: BoundariesState = { items: [], passed: [], from: 0 };

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
  if (after.length > before.length) return [...all, ...after.slice(before.length)];
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

// The stored form of boundaries. Each differs little from the one before it, so only the difference is stored,
// and the size of a snapshot is linear in the number of events. Pure.

type Lists = Required<
  Pick<ContextView, "compactions" | "prunings" | "cuts" | "omissions" | "reductions" | "bindings">
>;

/** A list as the length of its common beginning with an earlier one, and its other entries. */
interface ListChange<Entry> {
  readonly kept: number;
  readonly added: readonly Entry[];
}

type StoredView = Omit<ContextView, keyof Lists> & {
  readonly lists: { readonly [Name in keyof Lists]: ListChange<Lists[Name][number]> };
};

/** Parts that are those of the boundary before are absent. */
export type StoredBoundary = Pick<Boundary, "from" | "to" | "turn" | "agent"> &
  Partial<Pick<Boundary, "calibration" | "compactions" | "counts">> & {
    readonly view?: StoredView;
  };

// A stored snapshot is our own and has a checksum: only its outline is checked.
const part = <Part>(): z.ZodType<Part> =>
  z.custom<Part>((value) => typeof value === "object" && value !== null);

export const storedBoundarySchema: z.ZodType<StoredBoundary> = z.lazy(() =>
  z.object({
    from: z.int().positive(),
    to: z.int().positive(),
    turn: z.int().nonnegative(),
    agent: z.string().exactOptional(),
    calibration: part<Boundary["calibration"]>().exactOptional(),
    compactions: part<Boundary["compactions"]>().exactOptional(),
    counts: part<Boundary["counts"]>().exactOptional(),
    view: part<StoredView>().exactOptional(),
  }),
);

export function storedBoundaries(
  boundaries: readonly Boundary[],
  last: Boundary | undefined,
): readonly StoredBoundary[] {
  return boundaries.map((boundary, index) => stored(boundary, boundaries[index - 1] ?? last));
}

function stored(boundary: Boundary, before: Boundary | undefined): StoredBoundary {
  const { view, calibration, compactions, counts, ...rest } = boundary;
  return {
    ...rest,
    ...(calibration === before?.calibration ? {} : { calibration }),
    ...(compactions === before?.compactions ? {} : { compactions }),
    ...(counts === before?.counts ? {} : { counts }),
    ...(view === before?.view ? {} : { view: storedView(view, before?.view) }),
  };
}

function storedView(view: ContextView, before: ContextView = contextView.initial): StoredView {
  const { compactions, prunings, cuts, omissions, reductions = [], bindings, ...rest } = view;
  return {
    ...rest,
    lists: {
      compactions: changeOf(compactions, before.compactions),
      prunings: changeOf(prunings, before.prunings),
      cuts: changeOf(cuts, before.cuts),
      omissions: changeOf(omissions, before.omissions),
      reductions: changeOf(reductions, before.reductions ?? []),
      bindings: changeOf(bindings, before.bindings),
    },
  };
}

function changeOf<Entry>(list: readonly Entry[], before: readonly Entry[]): ListChange<Entry> {
  const differs = list.findIndex((entry, index) => entry !== before[index]);
  const kept = differs === -1 ? list.length : differs;
  return { kept, added: list.slice(kept) };
}

/** The boundaries of all chunks, oldest first; undefined if a part is missing. */
export function readBoundaries(
  earlier: readonly Boundary[],
  stored: readonly StoredBoundary[],
): readonly Boundary[] | undefined {
  const read = [...earlier];
  for (const one of stored) {
    const boundary = readBoundary(one, read.at(-1));
    if (boundary === undefined) return undefined;
    read.push(boundary);
  }
  return read;
}

function readBoundary(one: StoredBoundary, before: Boundary | undefined): Boundary | undefined {
  const { view: changed, ...rest } = one;
  const view = changed === undefined ? before?.view : readView(changed, before?.view);
  const calibration = one.calibration ?? before?.calibration;
  const compactions = one.compactions ?? before?.compactions;
  const counts = one.counts ?? before?.counts;
  return view && calibration && compactions && counts
    ? { ...rest, view, calibration, compactions, counts }
    : undefined;
}

function readView(
  { lists, ...rest }: StoredView,
  before: ContextView = contextView.initial,
): ContextView {
  const reductions = listAfter(lists.reductions, before.reductions ?? []);
  return {
    ...rest,
    ...(reductions.length === 0 ? {} : { reductions }),
    compactions: listAfter(lists.compactions, before.compactions),
    prunings: listAfter(lists.prunings, before.prunings),
    cuts: listAfter(lists.cuts, before.cuts),
    omissions: listAfter(lists.omissions, before.omissions),
    bindings: listAfter(lists.bindings, before.bindings),
  };
}

function listAfter<Entry>(
  { kept, added }: ListChange<Entry>,
  before: readonly Entry[],
): readonly Entry[] {
  return added.length === 0 && kept === before.length
    ? before
    : [...before.slice(0, kept), ...added];
}
