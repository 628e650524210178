/** Events and projections of a program have the types of their schemas. */

import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineEvents,
  type AppEvent,
  type HistoryItem,
  type Session,
  type SessionEvent,
} from "turnlog";
import { defineProjection, history, usage, type Projection } from "turnlog/projections";
import { scriptedModel } from "turnlog/testing";

const schemas = {
  "app.paid": z.object({ euros: z.coerce.number<string>() }),
  "app.refunded": z.object({ why: z.string().default("none") }),
};
const events = defineEvents(schemas);
const agent = { model: scriptedModel(["Yes."]) };

const paid = defineProjection({
  name: "paid",
  version: 1,
  follows: "log",
  events,
  schema: z.object({ euros: z.number() }),
  initial: { euros: 0 },
  on: {
    "app.paid": (state, { data }) => {
      expectTypeOf(state).toEqualTypeOf<{ euros: number }>();
      expectTypeOf(data).toEqualTypeOf<{ euros: number }>();
      return { euros: state.euros + data.euros };
    },
    "turn.ended": (state, { data }) => {
      expectTypeOf(data).toEqualTypeOf<SessionEvent<"turn.ended">["data"]>();
      return state;
    },
  },
});

test("a parsed event has the output of its schema, by its type", () => {
  const event = events.parse({} as SessionEvent);
  expectTypeOf(event).toEqualTypeOf<AppEvent<typeof schemas> | undefined>();
  if (event?.type === "app.paid") expectTypeOf(event.data).toEqualTypeOf<{ euros: number }>();
  if (event?.type === "app.refunded") expectTypeOf(event.data).toEqualTypeOf<{ why: string }>();
});

test("a session appends the input of the schema, of the runtime's events only", async () => {
  const runtime = await createRuntime({ memory: true, agent, events });
  const session = await runtime.session("s");
  expectTypeOf(session).toEqualTypeOf<Session<typeof schemas>>();
  await session.append("app.paid", { euros: "12" });
  await session.append("app.refunded", {});
  // @ts-expect-error The input is a text.
  void session.append("app.paid", { euros: 12 });
  // @ts-expect-error There is no such event.
  void session.append("app.sent", {});
  const fork = await session.fork();
  expectTypeOf(fork).toEqualTypeOf(session);
});

test("a runtime without events appends none", async () => {
  const session = await (await createRuntime({ memory: true, agent })).session("s");
  expectTypeOf<Parameters<(typeof session)["append"]>[0]>().toBeNever();
});

test("names of events begin with `app.`", () => {
  // @ts-expect-error All other names are turnlog's.
  expectTypeOf(defineEvents({ paid: z.object({}) })).not.toBeAny();
});

test("a projection has the state of its schema, wherever it is read", async () => {
  expectTypeOf(paid).toEqualTypeOf<Projection<{ euros: number }>>();
  const session = {} as Session;
  expectTypeOf((await session.project(paid)).state).toEqualTypeOf<{ euros: number }>();
  for await (const { state, position } of session.follow(paid)) {
    expectTypeOf(state).toEqualTypeOf<{ euros: number }>();
    expectTypeOf(position).toEqualTypeOf<number>();
  }
  expectTypeOf(history.initial.items).toEqualTypeOf<readonly HistoryItem[]>();
  expectTypeOf((await session.project(usage)).state).not.toBeAny();
  expectTypeOf(usage.initial).not.toEqualTypeOf<object>();
});

test("a projection folds events that exist, with those of the program named", () => {
  const own = { name: "n", version: 1, follows: "log", schema: z.object({}), initial: {} } as const;
  const same = (state: object): object => state;
  // @ts-expect-error Turnlog has no such event.
  expectTypeOf(defineProjection({ ...own, on: { "turn.vanished": same } })).not.toBeAny();
  // @ts-expect-error Without `events` those of the program are unknown.
  expectTypeOf(defineProjection({ ...own, on: { "app.paid": same } })).not.toBeAny();
});
