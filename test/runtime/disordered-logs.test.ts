/**
 * Logs that no runtime wrote: imports that nobody checked, whose events are missing, doubled, moved or about other
 * calls, and a custom log that hands over data of another form. There is a next message that works, or a typed error.
 */

import { tool } from "ai";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  exportSession,
  importSession,
  openMemoryLog,
  TurnlogError,
  verifySession,
  type Agent,
  type EventLog,
  type SessionEvent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";

const fine: Agent["model"] = scriptedModel(() => "Fine.");
const tools = { work: tool({ inputSchema: z.looseObject({}), execute: () => "done" }) };

/** Two turns; the first has two calls. */
async function recorded(): Promise<EventLog> {
  const log = await openMemoryLog();
  const model = scriptedModel((_, index) =>
    index === 0 ? calling(call("work", "a"), call("work", "b")) : "Fine.",
  );
  await using runtime = await createRuntime({ log, agent: { model, tools } });
  const session = await runtime.session("s");
  for (const text of ["Go.", "More."]) await (await session.send(text)).result;
  return log;
}

type Line = Record<string, unknown>;
interface Change {
  readonly how: "drop" | "double" | "move" | "end" | "rename";
  readonly at: number;
  readonly to: number;
}

const changes = fc.array(
  fc.record<Change>({
    how: fc.constantFrom("drop", "double", "move", "end", "rename"),
    at: fc.nat(),
    to: fc.nat(),
  }),
  { minLength: 1, maxLength: 2 },
);

function changed(events: readonly Line[], { how, at, to }: Change): readonly Line[] {
  const [from, place] = [at % events.length, to % events.length];
  const event = events[from] ?? {};
  const others = events.filter((_, index) => index !== from);
  switch (how) {
    case "drop":
      return others;
    case "double":
      return events.toSpliced(place, 0, event);
    case "move":
      return others.toSpliced(place, 0, event);
    case "end":
      return events.slice(0, from + 1);
    case "rename":
      return events.with(from, JSON.parse(JSON.stringify(event).replace('"a"', '"other"')) as Line);
  }
}

it("a message works after an import that nobody checked, however its events follow each other", async () => {
  await using log = await recorded();
  const [head = {}, ...events] = (await Array.fromAsync(exportSession(log, "s"))).map(
    (line) => JSON.parse(line) as Line,
  );
  const isCallOfA = ({ type, data }: Line): boolean =>
    type === "part.tool-call" && JSON.stringify(data).includes('"a"');
  // A call that its results do not name: nothing would end its turn.
  const example: Change[] = [{ how: "rename", at: events.findIndex(isCallOfA), to: 0 }];
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(changes, fc.constantFrom("stop", "continue"), async (made, recovery) => {
      const lines = made
        .reduce(changed, events)
        .map((line, index) => ({ ...line, position: index + 1 }));
      await using other = await openMemoryLog();
      const file = [{ ...head, events: lines.length }, ...lines].map((line) =>
        JSON.stringify(line),
      );
      if (!(await isTaken(importSession(other, file, { verify: false })))) return;
      taken += 1;
      await using runtime = await createRuntime({
        log: other,
        agent: { model: fine, tools },
        recovery,
      });
      const session = await runtime.session("s");
      for (const text of ["Again.", "And again."])
        expect(await (await session.send(text)).result).toMatchObject({ finishReason: "stop" });
    }),
    { ...runs(30), examples: [[example, "stop"]] },
  );
  expect(taken).toBeGreaterThan(10);
});

async function isTaken(imported: Promise<unknown>): Promise<boolean> {
  try {
    await imported;
    return true;
  } catch (error) {
    if (TurnlogError.isInstance(error)) return false;
    throw error;
  }
}

it.each([
  ["no data", "message.delivered", {}],
  ["a list of another form", "message.delivered", { ids: {}, turn: 1, boundary: "turn" }],
  ["a number as data", "step.finished", 5],
])(
  "a log that hands over %s is refused by a typed error that names the event",
  async (_, type, data) => {
    await using log = await recorded();
    const events = await Array.fromAsync(log.read("s"));
    const position = events.find((event) => event.type === type)?.position;
    const unchecked = handingOver(log, type, data);
    const problem = { position, rule: "readable" };
    expect((await verifySession(unchecked, "s")).problems).toMatchObject([problem]);
    await using runtime = await createRuntime({ log: unchecked, agent: { model: fine, tools } });
    await expect(runtime.session("s")).rejects.toMatchObject({
      code: "EVENT_INVALID",
      message: expect.stringMatching(
        `${type} at position ${position}.*eventLogContract`,
      ) as unknown,
    });
  },
);

it("a log that hands over a bigint, as drivers of databases do, is named by `verify`", async () => {
  await using log = await recorded();
  const queued = {
    id: "m",
    content: [{ type: "text", text: "Go.", providerOptions: { p: { n: 5n } } }],
  };
  const data = { ...queued, delivery: "follow-up" };
  const { problems } = await verifySession(handingOver(log, "message.queued", data), "s");
  expect(problems).toMatchObject([
    { rule: "readable", what: expect.stringContaining("message.queued") as unknown },
  ]);
});

/** The log, with other data in all events of a type. */
function handingOver(log: EventLog, type: string, data: unknown): EventLog {
  return wrapLog(log, {
    loadSnapshot: async () => undefined,
    async *read(session, range): AsyncGenerator<SessionEvent> {
      for await (const event of log.read(session, range))
        // What a log of somebody else hands over has no type.
        yield event.type === type ? ({ ...event, data } as unknown as SessionEvent) : event;
    },
  });
}
