/**
 * The stored form of boundaries. Each differs little from the one before it, so only the difference is
 * stored: the size of a snapshot is linear in what happened. Pure.
 */

import { z } from "zod";
import { contextView, type ContextView } from "../projections/index.ts";
import type { Boundary } from "./boundaries.ts";

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
