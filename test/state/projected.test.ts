/** The states of a program's projection, as they are followed. */

import { expect, it } from "vitest";
import { z } from "zod";
import { openMemoryLog, TurnlogError } from "../../src/public/index.ts";
import type { EventBody } from "../../src/events/index.ts";
import { branches, defineProjection } from "../../src/projections/index.ts";
import { projectedAt, projectedFrom, type ProjectionReader } from "../../src/state/projected.ts";
import { EVENTS_PER_SNAPSHOT } from "../../src/state/snapshot.ts";

const titles = defineProjection({
  name: "titles",
  version: 1,
  follows: "log",
  schema: z.object({ titles: z.array(z.string()) }),
  initial: { titles: [] },
  on: {
    "session.titled": (state, { data }) => ({ titles: [...state.titles, data.title] }),
  },
});

const counted = defineProjection({
  name: "counted",
  version: 1,
  follows: "log",
  schema: z.object({ titles: z.number() }),
  initial: { titles: 0 },
  on: { "session.titled": ({ titles: before }) => ({ titles: before + 1 }) },
});

it("come one for each event that changes them, and none for an event that does not", async () => {
  await using log = await openMemoryLog();
  const titled = (title: string): EventBody => ({ type: "session.titled", data: { title } });
  const seen: EventBody = { type: "session.seen", data: { by: "ada", turn: 0 } };
  const bodies = [titled("a"), seen, seen, titled("b")];
  await log.append(
    "s",
    "none",
    bodies.map((body) => ({ time: 1, ...body })),
    { origin: "copied" },
  );
  const reader = {
    log,
    session: "s",
    branches: async () => branches.initial,
    onWarning: (error: TurnlogError): void => {
      throw error;
    },
  };
  const first = { position: 0, state: titles.initial };
  const states: (readonly [number, string])[] = [];
  for await (const { position, state } of projectedFrom(reader, titles, first)) {
    states.push([position, state.titles.join()]);
    if (position === bodies.length) break;
  }
  expect(states).toEqual([
    [0, ""],
    [1, "a"],
    [4, "a,b"],
  ]);
});

it("end with the error of the projection, which is the program's own unless an event does not fit", async () => {
  await using log = await openMemoryLog();
  await log.append("s", "none", [{ time: 1, type: "session.titled", data: { title: "a" } }], {
    origin: "copied",
  });
  const reader = { log, session: "s", branches: async () => branches.initial, onWarning: () => {} };
  const failing = (error: Error) => {
    const projection = defineProjection({
      name: "failing",
      version: 1,
      follows: "log",
      initial: {},
      schema: z.object({}),
      on: {
        "session.titled": () => {
          throw error;
        },
      },
    });
    return projectedAt(reader, projection, 1, false);
  };
  for (const own of [new Error("No."), new TurnlogError("INVALID_INPUT", "No.")])
    await expect(failing(own)).rejects.toMatchObject({
      code: "CALLBACK_FAILED",
      session: "s",
      position: 1,
      cause: own,
    });
  const unfitting = new TurnlogError("EVENT_INVALID", "It does not fit.");
  await expect(failing(unfitting)).rejects.toBe(unfitting);
});

it("are stored where a reading that is kept had so many events to fold, and else not", async () => {
  const stored: number[] = [];
  const reading = async (events: number, keep: boolean): Promise<readonly number[]> => {
    stored.length = 0;
    const log: ProjectionReader["log"] = {
      read: async function* (_session, { from = 1, to = 0 } = {}) {
        const event = { time: 1, type: "session.titled", data: { title: "a" } } as const;
        for (let position = from; position <= to; position++) yield { position, ...event };
      },
      subscribe: () => expect.unreachable(),
      loadSnapshot: async () => undefined,
      saveSnapshot: async (_session, { position }) => void stored.push(position),
    };
    const reader = {
      log,
      session: "s",
      branches: async () => branches.initial,
      onWarning: () => {},
    };
    await projectedAt(reader, counted, events, keep);
    return [...stored];
  };
  expect(await reading(EVENTS_PER_SNAPSHOT - 1, true)).toEqual([]);
  expect(await reading(EVENTS_PER_SNAPSHOT, true)).toEqual([EVENTS_PER_SNAPSHOT]);
  expect(await reading(EVENTS_PER_SNAPSHOT, false)).toEqual([]);
});
