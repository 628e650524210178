/** `verifySession` and `verifyLog`: silent about what the runtime records, and precise about what is wrong. */

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  jsonObjectSchema,
  jsonSchema,
  type EventLog,
  type NewEvent,
  type SessionEvent,
} from "../../../src/events/index.ts";
import { Inspection } from "../../../src/archive/verify/inspection.ts";
import { openStateCheck } from "../../../src/archive/verify/verify-session.ts";
import { dropOldest, openMemoryLog, verifyLog, verifySession } from "../../../src/public/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { Choices } from "../../laws/choices.ts";
import { ImaginedSession } from "../../laws/imagined-session.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { patience, runs } from "../../support/runs.ts";
import { call, calling, saying } from "../../support/script.ts";
import { openSession } from "../../support/with-runtime.ts";
import { wrapLog } from "../../../src/replay/index.ts";
import { echo } from "../../runtime/tools.ts";

vi.setConfig({ testTimeout: patience });

async function logOf(events: readonly NewEvent[], session = "s"): Promise<EventLog> {
  const log = await openMemoryLog();
  await log.append(session, "none", events, { origin: "recorded" });
  return log;
}

const imagined = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 300, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

describe("verify", () => {
  it.each(fixtureNames)(
    "finds nothing wrong with the session %s, at every position",
    async (name) => {
      const events = await readFixture(name);
      await using log = await logOf(events);
      const prompts = events.filter(({ type }) => type === "step.started").length;
      expect(prompts).toBeGreaterThan(0);
      const found = { session: "s", events: events.length, prompts, problems: [] };
      expect(await verifySession(log, "s", { every: 1 })).toEqual(found);
      expect(await verifyLog(log)).toEqual({ sessions: [found], problems: [] });
    },
  );

  it("finds nothing wrong with a log that the runtime may record, cut off anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(imagined, fc.nat(), async (events, at) => {
        await using log = await logOf(events.slice(0, 1 + (at % events.length)));
        expect((await verifySession(log, "s", { every: 7 })).problems).toEqual([]);
      }),
      runs(60),
    );
  });

  it("asks for the folded state only where it compares it: the deltas in between are folded at once", async () => {
    const events = await readFixture("tools");
    const last = events.length;
    await using log = await logOf(events);
    const [inspection, states] = [
      new Inspection(),
      await openStateCheck(log, "s", { every: 10, last }),
    ];
    const asked: number[] = [];
    for (const event of events) {
      inspection.check(event);
      const found = states.check(event, () => {
        asked.push(event.position);
        return inspection.state;
      });
      expect(await found).toEqual(asked.at(-1) === event.position ? [] : undefined);
    }
    const due = events.map(({ position }) => position).filter((at) => at % 10 === 0 || at === last);
    expect(asked).toEqual(due);
  });

  it("says which prompt cannot be rebuilt once a message says something else", async () => {
    const events = await readFixture("tools");
    const first = events.find((event) => event.type === "message.queued");
    const changed = events.map((event) =>
      event === first ? { ...first, data: { ...first.data, content: "Another." } } : event,
    );
    await using log = await logOf(changed);
    const { problems } = await verifySession(log, "s");
    const sent = events
      .filter(({ type }) => type === "step.started")
      .map(({ position }) => position);
    expect(problems.map(({ rule, position }) => [rule, position])).toEqual(
      sent.map((position) => ["prompts", position]),
    );
    expect(problems[0]?.what).toMatch(/^the prompt of step 1 cannot be rebuilt: [0-9a-f]{64} /);
  });

  it("names the position from which a log cannot be read, and checks what is before it", async () => {
    const events = await readFixture("tools");
    await using log = await logOf(events);
    const broken = wrapLog(log, {
      async *read(session, range) {
        for await (const event of log.read(session, range)) {
          if (event.position !== 40) yield event;
        }
      },
    });
    expect(await verifySession(broken, "s")).toMatchObject({
      events: 39,
      problems: [{ session: "s", position: 40, rule: "readable" }],
    });
  });

  it("finds a stored state that does not match the events", async () => {
    const script = [calling(call("echo", "1", { value: 1 })), saying("Done.")];
    await using open = await openSession({ model: scriptedModel(script), tools: { echo } });
    await (
      await open.session.send("Go.")
    ).result;
    await open.runtime.close();
    const events = await open.events();
    const stored = await open.log.loadSnapshot("s", "session-summary");
    if (stored === undefined) throw new Error("No summary was stored.");
    expect((await verifySession(open.log, "s")).problems).toEqual([]);
    const state = { ...jsonObjectSchema.parse(stored.state), turns: 7 };
    await open.log.saveSnapshot("s", { ...stored, state });
    expect((await verifySession(open.log, "s")).problems).toMatchObject([
      { rule: "states", position: stored.position },
    ]);
    const ahead = { ...stored, position: events.length + 5 };
    const other = wrapLog(open.log, { loadSnapshot: async () => ahead });
    expect((await verifySession(other, "s")).problems).toMatchObject([
      { rule: "states", position: events.length },
    ]);
  });

  it("compares the long snapshot of a session with its events, part by part", async () => {
    const events = longTalk(await readFixture("tools"));
    await using open = await openSession(
      { model: scriptedModel(["Yes.", "Yes."]) },
      {
        log: await logOf(events),
      },
    );
    for (const text of ["One?", "Two?"]) {
      await (
        await open.session.send(text)
      ).result;
    }
    await open.runtime.close();
    const position = (await open.log.loadSnapshot("s", "session"))?.position ?? 0;
    const stored = await open.log.loadSnapshot("s", `session@${position}`);
    if (stored === undefined) throw new Error("No state was stored.");
    expect((await verifySession(open.log, "s")).problems).toEqual([]);
    const json = JSON.stringify(stored.state).replace('"turn":', '"turn":1');
    await open.log.saveSnapshot("s", { ...stored, state: jsonSchema.parse(JSON.parse(json)) });
    const { problems } = await verifySession(open.log, "s");
    expect(problems).toMatchObject([{ rule: "states", position: stored.position }]);
    expect(problems[0]?.what).toMatch(/^the stored \w+ does not match the events$/);
  });

  it("continues after compactions, which leave the prompts before them as they were", async () => {
    const long = "a long tale ".repeat(50);
    const look = calling(call("echo", "1", { value: long }));
    const model = scriptedModel([look, "One.", look, "Two.", "Three."]);
    await using open = await openSession({ model, tools: { echo } });
    for (const text of ["First.", "Second."]) {
      await (
        await open.session.send(text)
      ).result;
    }
    await open.session.compact(dropOldest({ keepTurns: 1 }));
    await (
      await open.session.send("Third.")
    ).result;
    const found = await verifySession(open.log, "s", { every: 1 });
    expect(found).toMatchObject({ prompts: 5, problems: [] });
  });

  it("is refused for a session that does not exist, and for a sample of nothing", async () => {
    await using log = await logOf(await readFixture("tools"));
    const nobody = verifySession(log, "nobody");
    await expect(nobody).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    for (const every of [0, -1, 0.5]) {
      const refused = verifySession(log, "s", { every });
      await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(verifyLog(log, { every })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
  });
});

describe("the lists of a store", () => {
  it("are held against each other: a session that one of them has lost is found", async () => {
    const events = await readFixture("tools");
    await using log = await logOf(events);
    await log.append("t", "none", events.slice(0, 5), { origin: "recorded" });
    const lost = wrapLog(log, {
      async *list() {
        for await (const entry of log.list()) if (entry.session !== "t") yield entry;
      },
      revision: async (session) => (session === "t" ? 0 : await log.revision(session)),
    });
    const { sessions } = await verifyLog(lost);
    expect(sessions).toMatchObject([
      { session: "s", problems: [] },
      { session: "t", problems: [{ rule: "readable" }] },
    ]);
    expect(sessions[1]?.problems[0]?.what).toContain("5 of its events");
  });

  it("are held against the events: those at the end that only the order knows are missed", async () => {
    const events = await readFixture("tools");
    await using log = await logOf(events);
    const short = wrapLog(log, { revision: async () => events.length - 1 });
    expect((await verifyLog(short)).sessions).toMatchObject([
      { events: events.length - 1, problems: [{ rule: "readable" }] },
    ]);
  });

  it("have each event once", async () => {
    await using log = await logOf(await readFixture("tools"));
    const twice = wrapLog(log, {
      async *readAll() {
        for await (const one of log.readAll()) {
          yield one;
          if (one.position === 7) yield one;
        }
      },
    });
    const found = await verifyLog(twice);
    expect(found.problems).toMatchObject([{ position: 7, rule: "readable" }]);
    expect(found.sessions).toMatchObject([{ problems: [{ position: 7, rule: "readable" }] }]);
  });
});

/** The session with one more turn of so many deltas that its state is stored when the next one ends. */
function longTalk(events: readonly SessionEvent[]): readonly NewEvent[] {
  const deltas = Array.from({ length: 2100 }, (_, index): NewEvent => {
    return { type: "part.text-delta", time: index, data: { id: "0", text: `${index} ` } };
  });
  const last = events.findLastIndex((event) => event.type === "step.finished");
  return events.slice(0, last).concat(deltas as SessionEvent[], events.slice(last));
}
