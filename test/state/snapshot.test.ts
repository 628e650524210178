/** Which states of a session are stored, and when its summary is stored anew. */

import { expect, it } from "vitest";
import { openMemoryLog } from "../../src/public/index.ts";
import type { EventBody, SessionEvent, Snapshot } from "../../src/events/index.ts";
import { sessionSummary } from "../../src/projections/index.ts";
import { initialSessionState } from "../../src/state/session-state.ts";
import { EVENTS_PER_SNAPSHOT, foldedStates } from "../../src/state/snapshot.ts";
import { readSummary } from "../../src/state/view.ts";
import { asked, said, stepFinished, stepStarted, turnEnded } from "../projections/session-of.ts";

function numbered(...bodies: readonly EventBody[]): readonly SessionEvent[] {
  return bodies.map((body, index) => ({ position: index + 1, time: 1, ...body }));
}

function talk(deltas: number): readonly EventBody[] {
  const [begin, delta, end] = said("word ");
  if (begin === undefined || delta === undefined || end === undefined) return [];
  return [begin, ...Array.from({ length: deltas }, () => delta), end];
}

it("states are due where a step begins or a turn ends, so many events after the last one that was stored", async () => {
  const before = [...asked("Go."), stepStarted(1)];
  const events = numbered(
    ...before,
    ...talk(EVENTS_PER_SNAPSHOT),
    stepFinished(1, "tool-calls"),
    stepStarted(2),
    ...said("Once more."),
    stepFinished(2),
    turnEnded(),
    ...asked("More.", 2),
    stepStarted(3),
    ...talk(EVENTS_PER_SNAPSHOT),
    stepFinished(3),
    turnEnded(2),
  );
  const { state, due } = await foldedStates(initialSessionState, events);
  expect(state.position).toBe(events.length);
  const types = due.map(({ position }) => events[position - 1]);
  expect(types).toMatchObject([
    { type: "step.started", data: { step: 2 } },
    { type: "turn.ended", data: { turn: 2 } },
  ]);
});

it("a summary is stored anew only where an outdated one was stored", async () => {
  const log = await openMemoryLog();
  await log.append("s", 0, numbered(...asked("Go."), turnEnded()));
  const kept: Snapshot[] = [];
  const read = () =>
    readSummary(log, "s", 4, undefined, undefined, async (_, snapshot) => void kept.push(snapshot));
  const summary = await read();
  expect(kept).toEqual([]);
  const { name: projection, version } = sessionSummary;
  const outdated = { projection, version: version - 1, position: 4, state: {} };
  await log.saveSnapshot("s", outdated);
  expect(await read()).toEqual(summary);
  expect(kept).toMatchObject([{ projection, version, position: 4 }]);
  for (const snapshot of kept.splice(0)) await log.saveSnapshot("s", snapshot);
  expect(await read()).toEqual(summary);
  expect(kept).toEqual([]);
});
