/** Branches against a plain model of them: for each branch, the list of its positions. */

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  activeSpans,
  branchAt,
  branches,
  headOf,
  isWithin,
  leftBranches,
  spansUpTo,
  type BranchesState,
} from "../../src/projections/branches.ts";
import type { PositionRange, SessionEvent } from "../../src/events/index.ts";
import { runs } from "../support/runs.ts";

type Act = { readonly do: "say" } | { readonly do: "rewind" | "checkout"; readonly at: number };

const acts = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Act>({ do: "say" }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("rewind" as const), at: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("checkout" as const), at: fc.nat() }) },
  ),
  { maxLength: 40, size: "max" },
);

/** Folds the acts, and keeps what the active branch was after each. */
function played(list: readonly Act[]) {
  let state: BranchesState = branches.initial;
  const paths = new Map<number, readonly number[]>([[1, [1]]]);
  const active: { readonly branch: number; readonly path: readonly number[] }[] = [
    { branch: 1, path: [1] },
  ];
  for (const act of list) {
    const position = active.length + 1;
    const now = active.at(-1) ?? { branch: 1, path: [1] };
    const ids = [...paths.keys()];
    const data =
      act.do === "rewind"
        ? { to: now.path[act.at % now.path.length] ?? 1 }
        : act.do === "checkout"
          ? { to: 1, branch: ids[act.at % ids.length] ?? 1 }
          : undefined;
    const branch = data === undefined ? now.branch : (data.branch ?? position);
    const before =
      data === undefined || data.branch !== undefined
        ? (paths.get(branch) ?? [])
        : now.path.slice(0, now.path.indexOf(data.to) + 1);
    const path = [...before, position];
    paths.set(branch, path);
    active.push({ branch, path });
    if (data !== undefined) {
      const event: SessionEvent = { position, time: 1, type: "session.rewound", data };
      state = branches.fold(state, event);
    }
  }
  return { state, paths, active };
}

const positionsOf = (spans: readonly PositionRange[], last: number): readonly number[] =>
  spans.flatMap(({ from, to }) =>
    Array.from({ length: Math.min(to, last) - from + 1 }, (_, index) => from + index),
  );

it("the active branch at each position, and the head of each branch, are those of the model", () => {
  fc.assert(
    fc.property(acts, (list) => {
      const { state, paths, active } = played(list);
      const last = active.length;
      for (const [index, { branch, path }] of active.entries()) {
        expect(branchAt(state, index + 1)).toBe(branch);
        expect(positionsOf(spansUpTo(state, index + 1), last)).toEqual(path);
      }
      for (const [branch, path] of paths) expect(headOf(state, branch, last)).toBe(path.at(-1));
      const now = active.at(-1)?.path ?? [];
      const left = leftBranches(state);
      for (let position = 1; position <= last; position++) {
        const isActive = now.includes(position);
        expect(isWithin(activeSpans(state), position)).toBe(isActive);
        expect(left(position)).toBe(isActive ? undefined : active[position - 1]?.branch);
      }
    }),
    runs(200),
  );
});

it("a branch knows what it began with: where it left its parent, and what runs again", () => {
  const rewound = (position: number, data: object): SessionEvent => ({
    position,
    time: 1,
    type: "session.rewound",
    data: { to: 2, ...data },
  });
  const first = { id: 1 };
  const fold = (...events: readonly SessionEvent[]): BranchesState =>
    events.reduce((state, event) => branches.fold(state, event), branches.initial);
  const bare = { id: 5, parent: 1, forkedAt: 2 };
  expect(fold(rewound(5, {}))).toStrictEqual({
    all: [first, bare],
    switches: [
      { from: 1, branch: 1 },
      { from: 5, branch: 5 },
    ],
  });
  const more = { again: ["a"], edit: { replaces: "a", by: "b" }, key: "k" };
  expect(fold(rewound(5, more)).all).toStrictEqual([first, { ...bare, ...more }]);
  const back = fold(rewound(5, {}), rewound(7, { branch: 1 }));
  expect(back.all).toStrictEqual([first, bare]);
  expect(back.switches.at(-1)).toStrictEqual({ from: 7, branch: 1 });
  expect(fold(rewound(5, {}), rewound(7, { to: 6 })).all.at(-1)).toMatchObject({ parent: 5 });
});

it("a branch has no head before it begins, and one that nobody began has none", () => {
  const { state } = played([{ do: "say" }, { do: "rewind", at: 0 }, { do: "say" }]);
  expect([headOf(state, 3, 2), headOf(state, 3, 3), headOf(state, 3, 4)]).toEqual([0, 3, 4]);
  expect([headOf(state, 1, 1), headOf(state, 1, 4), headOf(state, 2, 4)]).toEqual([1, 2, 0]);
});
