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

/** The last position of a branch; `last` is the session's. */
export function headOf({ switches }: BranchesState, branch: number, last: number): number {
  const index = switches.findLastIndex((one) => one.branch === branch && one.from <= last);
  if (index === -1) return 0;
  return Math.min(last, (switches[index + 1]?.from ?? Infinity) - 1);
}

/**
 * The events that were on the active branch at a position, as ranges, oldest first. One walk back over the
 * switches: to where the branch begins, and from the position that it left on through its parent.
 */
export function spansUpTo(
  { all, switches }: BranchesState,
  position: number,
): readonly PositionRange[] {
  const forkedAt = new Map(all.map((branch) => [branch.id, branch.forkedAt]));
  const spans: PositionRange[] = [];
  let to: number | undefined = position;
  let id: number | undefined;
  let end = Infinity;
  for (const { from, branch } of switches.toReversed()) {
    if (to === undefined) break;
    const last = Math.min(to, end);
    end = from - 1;
    if (from > to) continue;
    id ??= branch;
    if (branch !== id) continue;
    spans.push({ from, to: last });
    if (from !== id) continue;
    to = forkedAt.get(id);
    id = undefined;
  }
  return spans.toReversed();
}

export function activeSpans(state: BranchesState): readonly PositionRange[] {
  return spansUpTo(state, Infinity);
}

/** The branch of a position, undefined if it is the active one. */
export function leftBranches(state: BranchesState): (position: number) => number | undefined {
  const spans = activeSpans(state);
  return (position) => (isWithin(spans, position) ? undefined : branchAt(state, position));
}

/** Whether a position is in one of the ranges, which are in order. */
export function isWithin(spans: readonly PositionRange[], position: number): boolean {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle]?.to ?? Infinity) < position) low = middle + 1;
    else high = middle;
  }
  return (spans[low]?.from ?? Infinity) <= position;
}

const position = z.int().positive();

export const branches: Projection<BranchesState> = defineProjection<BranchesState>({
  name: "branches",
  version: 1,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
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
  ),
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
