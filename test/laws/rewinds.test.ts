/** Law 12: a rewind brings back the history and the prompt of a boundary, and a checkout those of a branch. */

import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { openMemoryLog } from "../../src/public/index.ts";
import type { EventBody, EventMap, SessionEvent } from "../../src/events/index.ts";
import {
  activeSpans,
  branchAt,
  contextView,
  headOf,
  history,
  isWithin,
  promptMessages,
} from "../../src/projections/index.ts";
import {
  foldSession,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  type SessionState,
} from "../../src/state/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { replay, stateAt } from "../support/replay.ts";
import { long, patience, runs } from "../support/runs.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";
import { fixtureNames, readFixture } from "./session-fixture.ts";

const imagined: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 500, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

vi.setConfig({ testTimeout: patience });

/** What law 12 speaks of, and what estimates of the next prompt start from. */
function remembered({ history: { items }, ...state }: SessionState): object {
  const { view, calibration, compactions, counts } = state;
  const prompt = promptMessages({ ...state, items, waiting: [], turn: 0 }, view);
  return { items, prompt: JSON.stringify(prompt), view, calibration, compactions, counts };
}

/** Names the parts that differ: a whole difference of two states takes minutes to print. */
function expectSame(found: object, expected: object): void {
  const parts = (value: object): Record<string, unknown> => ({ ...value });
  const [one, other] = [parts(found), parts(expected)];
  expect(Object.keys(one).filter((name) => !isDeepStrictEqual(one[name], other[name]))).toEqual([]);
}

function after(state: SessionState, data: EventMap["session.rewound"]): SessionState {
  const event = { position: state.position + 1, time: 0, type: "session.rewound", data } as const;
  return foldSession(state, event).state;
}

/** The positions at rest between turns, of all branches. */
function boundaries({ boundaries: { passed, from }, position }: SessionState): readonly number[] {
  const now = from === 0 ? [] : [from, position];
  return [...new Set([...passed.flatMap((one) => [one.from, one.to]), ...now])];
}

function expectRewinds(events: readonly SessionEvent[], most: number): number {
  const replayed = replay(events);
  const { last } = replayed;
  if (last.boundaries.from === 0) return 0;
  const all = boundaries(last);
  const stride = Math.max(1, Math.ceil(all.length / most));
  const tried = all.filter((_, index) => index % stride === 0);
  for (const to of tried) {
    const rewound = after(last, { to });
    expectSame(remembered(rewound), remembered(stateAt(replayed, to)));
    expectSame(rewound.queue, last.queue);
    const branch = branchAt(last.branches, last.position);
    const head = headOf(last.branches, branch, last.position);
    const back = after(rewound, { to: head, branch });
    expectSame(remembered(back), remembered(last));
    // Numbers of turns and steps never count backwards.
    const { turn, step } = last.machine.context;
    expect(back.machine.context).toMatchObject({ turn, step });
  }
  return tried.length;
}

/** The events of the active branch, and those of the queue, which follows the log. */
function activeEvents(events: readonly SessionEvent[], state: SessionState): SessionEvent[] {
  const spans = activeSpans(state.branches);
  const isQueue = /^message\.(?:queued|rescheduled|withdrawn)$/;
  return events.filter(({ type, position }) => isWithin(spans, position) || isQueue.test(type));
}

describe("a session that the runtime may record, rewound at any time", () => {
  it("is at each boundary what it was there, and returns to what it left", () => {
    let tried = 0;
    fc.assert(
      fc.property(imagined, (events) => {
        tried += expectRewinds(events, 12);
      }),
      runs(200),
    );
    expect(tried).toBeGreaterThan(200);
  });

  it("has the history and the prompt that the events of its active branch give alone", () => {
    fc.assert(
      fc.property(imagined, (events) => {
        const { last } = replay(events);
        const notes = new Set(
          events.flatMap(({ type, position }) => (type === "session.rewound" ? [position] : [])),
        );
        let folded = { history: history.initial, view: contextView.initial };
        for (const event of activeEvents(events, last)) {
          folded = {
            history: history.fold(folded.history, event),
            view: contextView.fold(folded.view, event),
          };
        }
        const items = last.history.items.filter(({ position }) => !notes.has(position));
        const { changed: _, ...view } = last.view;
        const { changed: __, ...alone } = folded.view;
        expectSame({ items: folded.history.items, view: alone }, { items, view });
      }),
      runs(200),
    );
  });

  it("is the same from any snapshot on", async () => {
    await fc.assert(
      fc.asyncProperty(imagined, fc.array(fc.nat(), { maxLength: 4 }), async (events, cuts) => {
        const replayed = replay(events);
        const cut = cuts.map((at) => 1 + (at % events.length));
        const places = [...new Set([...cut, events.length])].toSorted((a, b) => a - b);
        await using log = await openMemoryLog();
        await log.append("one", "none", events, { origin: "recorded" });
        let kept = nothingKept;
        for (const position of places) {
          kept = await saveSessionSnapshot(log, "one", stateAt(replayed, position), kept);
          const { state } = await loadSessionSnapshot(log, "one");
          expect(state.position).toBe(position);
          const tail = events.slice(position);
          const end = tail.reduce((before, event) => foldSession(before, event).state, state);
          expectSame(end, replayed.last);
        }
      }),
      runs(100),
    );
  });

  it("is rewound, left and returned to often in this test", () => {
    const rewinds = fc.sample(imagined, { numRuns: 100, seed: 1 }).map((events) => {
      const all = events.filter((event) => event.type === "session.rewound");
      const out = all.filter((event) => event.data.branch !== undefined).length;
      return { all: all.length, out, again: all.filter((one) => one.data.again).length };
    });
    const sum = (name: "all" | "out" | "again"): number =>
      rewinds.reduce((total, one) => total + one[name], 0);
    expect(sum("all")).toBeGreaterThan(100);
    expect(sum("out")).toBeGreaterThan(20);
    expect(sum("again")).toBeGreaterThan(20);
  });
});

describe.each(fixtureNames)("the recorded session %s", (name) => {
  it("is rewound to its boundaries, and from there to others", async () => {
    const events = (await readFixture(name)).filter(({ type }) => type !== "session.closed");
    const { last } = replay(events);
    const most = long ? Number.POSITIVE_INFINITY : 8;
    expect(expectRewinds(events, most)).toBeGreaterThan(0);
    const places = boundaries(last);
    const body = (to: number): EventBody => ({ type: "session.rewound", data: { to } });
    const more = [places[0] ?? 1, places.at(-1) ?? 1].map(body);
    const twice = more.map((one, index): SessionEvent => {
      return { position: last.position + 1 + index, time: 0, ...one };
    });
    expectRewinds([...events, ...twice], 4);
    expect(lawProblems([...events, ...twice], { cutOff: true })).toEqual([]);
  });
});

it("a rewind into a turn, to an unknown branch or before the session changes nothing, and verify says so", async () => {
  const events = await readFixture("tools");
  const { last } = replay(events);
  const started = events.find(({ type }) => type === "step.started");
  const wrong: readonly EventMap["session.rewound"][] = [
    { to: started?.position ?? 0 },
    { to: 1, branch: 7 },
    { to: 1, branch: 1 },
    { to: last.position + 1 },
    { to: 1, again: ["unknown"] },
  ];
  for (const data of wrong) {
    const event: SessionEvent = {
      position: last.position + 1,
      time: 0,
      type: "session.rewound",
      data,
    };
    const { state } = foldSession(last, event);
    expectSame(state, { ...last, position: event.position });
    expect(lawProblems([...events, event])).toEqual([
      expect.stringContaining(`branches: position ${data.to} is no boundary`),
    ]);
  }
});
