/** Replays in recorded time, at a factor and at once. The time is virtual: nothing waits. */

import { describe, expect, it } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { recordedPace, replayModel, type Pace } from "../../src/models/index.ts";
import { replay } from "../../src/replay/replay.ts";
import { readFixture, type FixtureName } from "../laws/session-fixture.ts";
import { agentOf } from "../laws/recorded-scripts.ts";
import { sampled } from "../support/runs.ts";
import { virtualTime } from "../support/virtual-time.ts";

/** Said by a model, by a tool or from outside: all else follows at once from what came before. */
function isTold({ type }: SessionEvent): boolean {
  return (
    type === "message.queued" ||
    type === "turn.cancel-requested" ||
    type === "tool.progressed" ||
    type === "tool.succeeded" ||
    type.endsWith("-delta")
  );
}

async function happened(name: FixtureName, pace: Pace): Promise<readonly [SessionEvent, number][]> {
  const events = await readFixture(name);
  const time = virtualTime();
  const told: [SessionEvent, number][] = [];
  const onEvent = (event: SessionEvent): void => void told.push([event, time.now()]);
  const found = await replay(events, await agentOf(name), { pace, time, onEvent });
  expect(found).toEqual({ events: events.length, parts: expect.anything() as unknown });
  return told;
}

const names: readonly FixtureName[] = [
  "tools",
  "cancels",
  "pruning",
  "crashes",
  "retries",
  "parallel",
];
const paces: readonly (readonly [Pace, number])[] = [
  ["recorded", 1],
  [4, 4],
  [0.5, 0.5],
];

// In `npm test` each at one pace.
describe.each(names.map((name, place) => [name, place] as const))(
  "the session %s",
  (name, place) => {
    it.each(sampled(paces, 1, place))(
      "happens again in the time that it took, at the pace %s",
      async (pace, factor) => {
        const told = await happened(name, pace);
        const begin = told[0]?.[0].time ?? 0;
        expect(told.filter(([event]) => isTold(event)).length).toBeGreaterThan(10);
        const wrong = told.filter(([event, now]) => {
          const late = now - (event.time - begin) / factor;
          return isTold(event) ? Math.abs(late) > 1e-6 : late > 1e-6;
        });
        expect(wrong).toEqual([]);
      },
    );

    it("happens again at once, whatever time it took", async () => {
      const told = await happened(name, "at-once");
      expect(new Set(told.map(([, now]) => now))).toEqual(new Set([0]));
    });
  },
);

describe("a pace", () => {
  const moments = [0, 40, 40, 30, 5000].map((time, index) => ({ position: index + 1, time }));

  it("is not lost where the clock was set back, and cuts gaps that are too long", async () => {
    const time = virtualTime();
    const pace = recordedPace(moments as SessionEvent[], 2, { time, longestMs: 1000 });
    const times: number[] = [];
    for (const { position } of moments) {
      await pace.due(position);
      times.push(time.now());
    }
    expect(times).toEqual([0, 20, 20, 20, 1020]);
  });

  it("begins where it is asked for first", async () => {
    const time = virtualTime();
    const pace = recordedPace(moments.slice(1) as SessionEvent[], "recorded", { time });
    await pace.due(4);
    expect(time.now()).toBe(0);
    await pace.due(5);
    expect(time.now()).toBe(4970);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("of %s is refused", (pace) => {
    expect(() => recordedPace([], pace)).toThrow(/above 0/);
  });

  it("has a model of a log speak in recorded time", async () => {
    const events = await readFixture("steering");
    const time = virtualTime();
    const model = replayModel(events, recordedPace(events, "recorded", { time }));
    const { stream } = await model.doStream({ prompt: [] });
    const times: number[] = [];
    for await (const part of stream) if (part.type === "text-delta") times.push(time.now());
    const deltas = events.filter(({ type }) => type === "part.text-delta");
    const [first, second] = deltas;
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBe((second?.time ?? 0) - (first?.time ?? 0));
  });
});
