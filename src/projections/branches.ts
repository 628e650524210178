/**
 * Which events belong to which branch, and which branch is active. A rewind begins a branch, a checkout
 * continues one. Pure; it follows the log.
 */

import { z } from "zod";
import type { MessageEdit, PositionRange } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** A branch: the events of its parent up to `forkedAt`, and its own. */
interface Branch {
  /** The position of its first event; it never changes. */
  readonly id: number;
  /** Absent for the first branch. */
  readonly parent?: number;
  /** The last position of the parent that the branch has. */
  readonly forkedAt?: number;
  /** The messages that its `session.rewound` runs again. */
  readonly again?: readonly string[];
  readonly edit?: MessageEdit;
  readonly key?: string;
}

export interface BranchesState {
  /** Oldest first, so ids increase. */
  readonly all: readonly Branch[];
  /** From which position on which branch was active, oldest first. The last one is active. */
  readonly switches: readonly { readonly from: number; readonly branch: number }[];
}

export function branchAt({ switches }: BranchesState, position: number): number {
  return switches.findLast(({ from }) => from <= position)?.branch ?? 1;
}

/** The events of a branch itself, without its parent's, as ranges; `last` is the session's last position. */
function ownSpans(
  { switches }: BranchesState,
  branch: number,
  last: number,
): readonly PositionRange[] {
  return switches.flatMap((one, index) => {
    const to = Math.min(last, (switches[index + 1]?.from ?? Infinity) - 1);
    return one.branch === branch && one.from <= to ? [{ from: one.from, to }] : [];
  });
}

export function headOf(state: BranchesState, branch: number, last: number): number {
  return ownSpans(state, branch, last).at(-1)?.to ?? 0;
}

/** The events that were on the active branch at a position, as ranges, oldest first. */
export function spansUpTo(state: BranchesState, position: number): readonly PositionRange[] {
  const spans: PositionRange[] = [];
  let to: number | undefined = position;
  while (to !== undefined) {
    const id: number = branchAt(state, to);
    spans.unshift(...ownSpans(state, id, to));
    to = state.all.find((branch) => branch.id === id)?.forkedAt;
  }
  return spans;
}

export function activeSpans(state: BranchesState): readonly PositionRange[] {
  return spansUpTo(state, Infinity);
}

/** The branch of a position, undefined if it is the active one. */
export function leftBranches(state: BranchesState): (position: number) => number | undefined {
  const spans = activeSpans(state);
  return (position) => (isWithin(spans, position) ? undefined : branchAt(state, position));
}

export function isWithin(spans: readonly PositionRange[], position: number): boolean {
  return spans.some(({ from, to }) => from <= position && position <= to);
}

const position = z.int().positive();

export const branches: Projection<BranchesState> = defineProjection<BranchesState>({
  name: "branches",
  version: 1,
  follows: "log",
  schema: z.object({
    all: z.array(
      z.object({
        id: position,
        parent: position.exactOptional(),
        forkedAt: position.exactOptional(),
        again: z.array(z.string()).exactOptional(),
        edit: z.object({ replaces: z.string(), by: z.string() }).exactOptional(),
        key: z.string().exactOptional(),
      }),
    ),
    switches: z.array(z.object({ from: position, branch: position })),
  }),
  initial: { all: [{ id: 1 }], switches: [{ from: 1, branch: 1 }] },
  on: {
    "session.rewound": (state, { position: from, data }) => {
      const { to, branch, again, edit, key } = data;
      if (branch !== undefined)
        return { ...state, switches: [...state.switches, { from, branch }] };
      const begun: Branch = {
        id: from,
        parent: branchAt(state, to),
        forkedAt: to,
        ...(again === undefined ? {} : { again }),
        ...(edit === undefined ? {} : { edit: { replaces: edit.replaces, by: edit.by } }),
        ...(key === undefined ? {} : { key }),
      };
      return {
        all: [...state.all, begun],
        switches: [...state.switches, { from, branch: from }],
      };
    },
  },
});
