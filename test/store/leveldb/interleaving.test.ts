/** Appends in any order: what is read is what was appended, and all orders over sessions agree. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import {
  TurnlogError,
  type EventLog,
  type ExpectedRevision,
  type SessionEvent,
} from "../../../src/events/index.ts";
import { numbered } from "../../../src/testing/index.ts";
import { runs } from "../../support/runs.ts";
import { temporaryFolder, timeout } from "./disk.ts";
import { openFaultyLog } from "./faulty-database.ts";
import { join } from "node:path";

/** One thing that a caller may do next. */
type Action =
  | {
      readonly do: "append";
      readonly session: string;
      readonly count: number;
      readonly expected: "right" | "wrong" | "any";
    }
  | { readonly do: "append-with-id"; readonly session: string; readonly id: string }
  | { readonly do: "wait" }
  | { readonly do: "read"; readonly session: string };

const session = fc.constantFrom("a", "b", "c", "a-1");
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      session,
      count: fc.integer({ min: 1, max: 5 }),
      expected: fc.constantFrom("right" as const, "wrong" as const, "any" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("append-with-id" as const),
      session,
      id: fc.constantFrom("x", "y", "z"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("read" as const), session }) },
);

/** The simplest model of a log, with which the real one must agree. */
class Model {
  readonly sessions = new Map<string, SessionEvent[]>();
  number = 0;

  events(name: string): SessionEvent[] {
    const events = this.sessions.get(name) ?? [];
    this.sessions.set(name, events);
    return events;
  }

  append(name: string, count: number, id?: string): SessionEvent[] {
    const events = this.events(name);
    const added = Array.from({ length: count }, (_, index) => ({
      ...numbered(++this.number, id),
      position: events.length + 1 + index,
    }));
    events.push(...added);
    return added;
  }
}

async function act(
  log: EventLog,
  model: Model,
  next: Action,
  started: Promise<void>[],
): Promise<void> {
  switch (next.do) {
    case "append": {
      const { length } = model.events(next.session);
      const expected: ExpectedRevision =
        next.expected === "any" ? "any" : length + (next.expected === "wrong" ? 1 : 0);
      if (next.expected === "wrong") {
        started.push(
          log.append(next.session, expected, [numbered(0)]).then(
            () => expect.unreachable("a conflict was not found"),
            (error: unknown) =>
              expect(TurnlogError.isInstance(error) && error.code).toBe("REVISION_CONFLICT"),
          ),
        );
        return;
      }
      const added = model.append(next.session, next.count);
      const revision = length + next.count;
      started.push(
        log
          .append(next.session, expected, added)
          .then((appended) => expect(appended).toMatchObject({ revision, repeated: false })),
      );
      return;
    }
    case "append-with-id": {
      const found = model.events(next.session).find(({ id }) => id === next.id);
      const [event] = found === undefined ? model.append(next.session, 1, next.id) : [found];
      if (event === undefined) return;
      started.push(
        log.append(next.session, "any", [event]).then((appended) =>
          expect(appended).toMatchObject({
            revision: event.position,
            repeated: found !== undefined,
          }),
        ),
      );
      return;
    }
    case "wait":
      await Promise.all(started);
      return;
    case "read": {
      const events = await Array.fromAsync(log.read(next.session));
      expect(events).toEqual(model.events(next.session).slice(0, events.length));
    }
  }
}

async function agrees(log: EventLog, model: Model): Promise<void> {
  const all = await Array.fromAsync(log.readAll());
  expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index + 1));
  const list = new Map(
    (await Array.fromAsync(log.list())).map((entry) => [entry.session, entry.revision]),
  );
  for (const [name, events] of model.sessions) {
    expect(await Array.fromAsync(log.read(name))).toEqual(events);
    expect((await Array.fromAsync(log.read(name, { backwards: true }))).toReversed()).toEqual(
      events,
    );
    expect(all.filter((entry) => entry.session === name).map(({ event }) => event)).toEqual(events);
    expect(list.get(name) ?? 0).toBe(events.length);
    expect(await log.revision(name)).toBe(events.length);
  }
}

async function run(log: EventLog, actions: readonly Action[]): Promise<Model> {
  const model = new Model();
  const started: Promise<void>[] = [];
  for (const next of actions) await act(log, model, next, started);
  await Promise.all(started);
  await agrees(log, model);
  return model;
}

it(
  "agrees with the simplest log there could be, however long the database takes",
  async () => {
    const delays = fc.array(fc.nat(3), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), delays, async (actions, turns) => {
        let operation = 0;
        const { log } = await openFaultyLog(async () => {
          const wait = turns[operation++ % turns.length] ?? 0;
          for (let turn = 0; turn < wait; turn++)
            await new Promise((resolve) => setImmediate(resolve));
        });
        await run(log, actions);
        await log.close();
      }),
      runs(80, 150),
    );
  },
  timeout,
);

it(
  "agrees with it on disk, also after it was closed and opened again",
  async () => {
    const root = await temporaryFolder();
    let store = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
        const dir = join(root, String(store++));
        const log = await openLog({ dir, durability: "os" });
        const model = await run(log, actions);
        await log.close();
        await using again = await openLog({ dir });
        await agrees(again, model);
      }),
      runs(20),
    );
  },
  timeout,
);
