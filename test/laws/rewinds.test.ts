/** Law 12: a rewind brings back the history and the prompt of a boundary, and a checkout those of a branch. */

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { encryptedLog, memoryKeys, openMemoryLog } from "../../src/public/index.ts";
import type { EventBody, EventMap, SessionEvent } from "../../src/events/index.ts";
import { activeSpans, contextView, history, isWithin } from "../../src/projections/index.ts";
import {
  foldSession,
  isInTurn,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  type SessionState,
} from "../../src/state/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { boundaryPositions, differences, tryRewinds } from "../support/rewind-problems.ts";
import { replay, stateAt, storedEvents } from "../support/replay.ts";
import { patience, runs, times } from "../support/runs.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";
import { fixtureNames, readFixture } from "./session-fixture.ts";
import { redactSession } from "../../src/archive/index.ts";

const imagined: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 500, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

vi.setConfig({ testTimeout: patience });

function expectRewinds(events: readonly SessionEvent[], most: number): number {
  const { tried, problems } = tryRewinds(events, { most });
  expect(problems).toEqual([]);
  return tried;
}

function expectSame(found: object, expected: object): void {
  expect(differences(found, expected)).toEqual([]);
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
      runs(30, 60),
    );
    expect(tried).toBeGreaterThan(100);
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
      runs(30, 60),
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
      runs(30, 60),
    );
  });

  it("is rewound, left and returned to often in this test", () => {
    const rewinds = fc.sample(imagined, { numRuns: 150, seed: 1 }).map((events) => {
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
    expect(expectRewinds(events, times(8))).toBeGreaterThan(0);
    const places = boundaryPositions(last);
    const body = (to: number): EventBody => ({ type: "session.rewound", data: { to } });
    const more = [places[0] ?? 1, places.at(-1) ?? 1].map(body);
    const twice = more.map((one, index): SessionEvent => {
      return { position: last.position + 1 + index, time: 0, ...one };
    });
    expectRewinds([...events, ...twice], 4);
    expect(lawProblems([...events, ...twice], { cutOff: true })).toEqual([]);
  });
});

it.each(fixtureNames)("the recorded session %s is rewound so after a redaction", async (name) => {
  const events = (await readFixture(name)).filter(({ type }) => type !== "session.closed");
  const stored = await openMemoryLog();
  await using log = encryptedLog(stored, memoryKeys());
  await log.append("one", "none", events, { origin: "recorded" });
  const said = events.flatMap(({ type, position }) =>
    type === "message.queued" || type === "part.text-delta" ? [position] : [],
  );
  const gone = said.filter((_, index) => index % 3 === 0);
  if (isInTurn(replay(events).last.machine)) return;
  await redactSession(log, "one", gone);
  const redacted = await storedEvents(log, "one");
  expect(JSON.stringify(redacted)).not.toBe(JSON.stringify(events));
  const { tried, problems } = tryRewinds(redacted, { most: times(8), thinned: true });
  expect({ problems, isTried: tried > 0 }).toEqual({ problems: [], isTried: true });
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
