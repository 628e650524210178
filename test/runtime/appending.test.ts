/** Events of a program: checked, durable, repeatable, in any state of a session, and seen by every reader. */

import { describe, expect, expectTypeOf, it } from "vitest";
import { tool } from "ai";
import { z } from "zod";
import {
  createRuntime,
  defineEvents,
  exportSession,
  importSession,
  memoryKeys,
  openMemoryLog,
  verifySession,
  type Runtime,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { ask } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";

const tickets = defineEvents({
  "app.ticket-opened": z.object({ ticket: z.string(), urgent: z.boolean().default(false) }),
  "app.ticket-closed": z.object({ ticket: z.string() }),
});
const agent = { model: scriptedModel(() => "Fine.") };

describe("an event of a program", () => {
  it("is durable when append resolves, and the next process reads it as it was given", async () => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent, events: tickets });
    const session = await runtime.session("s");
    const { position } = await session.append("app.ticket-opened", { ticket: "T-1" });
    const [event] = await log.readAt("s", [position]);
    expect(event).toMatchObject({ type: "app.ticket-opened", data: { ticket: "T-1" } });
    if (event === undefined) return;
    const parsed = tickets.parse(event);
    expect(parsed).toMatchObject({ position, data: { ticket: "T-1", urgent: false } });
    if (parsed?.type === "app.ticket-opened")
      expectTypeOf(parsed.data).toEqualTypeOf<{ ticket: string; urgent: boolean }>();
  });

  it("keeps the keys that every object of JavaScript has by itself", async () => {
    const text = '{"__proto__":{"a":[1]},"constructor":{"prototype":1},"x":{"__proto__":"deep"}}';
    const given: object = z.custom<object>().parse(JSON.parse(text));
    const events = defineEvents({ "app.noted": z.custom<object>() });
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent, events });
    const session = await runtime.session("s");
    const { position } = await session.append("app.noted", given);
    const [event] = await log.readAt("s", [position]);
    expect(JSON.stringify(event?.data)).toBe(text);
    expect(Object.getPrototypeOf(event?.data)).toBe(Object.prototype);
  });

  it("is refused if its name, its data or its id does not fit, in the types too", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const session = await runtime.session("s");
    const before = (await session.view()).position;
    const refusals = [
      // @ts-expect-error: not one of the program's names
      session.append("turn.started", { turn: 1 }),
      // @ts-expect-error: a misspelt name
      session.append("app.ticket-open", { ticket: "T-1" }),
      // @ts-expect-error: a field of another type
      session.append("app.ticket-opened", { ticket: 1 }),
      // @ts-expect-error: a field is missing
      session.append("app.ticket-closed", {}),
      // @ts-expect-error: an option that append does not have
      session.append("app.ticket-closed", { ticket: "T-1" }, { key: "k" }),
      session.append("app.ticket-closed", { ticket: "T-1" }, { id: "" }),
      session.append("app.ticket-closed", { ticket: "x".repeat(1_100_000) }),
    ];
    for (const refused of refusals)
      await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(refusals[1]).rejects.toThrow(/Did you mean "app.ticket-opened"/);
    expect((await session.view()).position).toBe(before);
    await using plain = await createRuntime({ memory: true, agent });
    const other = await plain.session("s");
    // @ts-expect-error: a runtime without events
    const refused = other.append("app.ticket-opened", { ticket: "T-1" });
    await expect(refused).rejects.toThrow(/createRuntime\(\{ events \}\)/);
  });

  it.each([
    ["a name of turnlog's", () => defineEvents({ "turn.started": z.object({}) } as never)],
    ["a name with other characters", () => defineEvents({ "app.Ticket": z.object({}) })],
    ["something else than a schema", () => defineEvents({ "app.ticket": {} } as never)],
  ])("cannot be defined with %s", (_, define) => {
    expect(define).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });

  it("is appended once under one id, also by the next process and in a fork", async () => {
    await using log = await openMemoryLog();
    await using first = await createRuntime({ log, agent, events: tickets });
    const session = await first.session("s");
    const data = { ticket: "T-1" };
    const [one, two] = await Promise.all([
      session.append("app.ticket-opened", data, { id: "w-1" }),
      session.append("app.ticket-opened", data, { id: "w-1" }),
    ]);
    expect([one.repeated, two.repeated]).toEqual([false, true]);
    await first.close();
    await using second = await createRuntime({ log, agent, events: tickets });
    const again = await second.session("s");
    const fork = await again.fork({ id: "f" });
    for (const target of [again, fork]) {
      const repeated = await target.append("app.ticket-opened", data, { id: "w-1" });
      expect(repeated).toEqual({ position: one.position, repeated: true });
      const other = target.append("app.ticket-opened", { ticket: "T-2" }, { id: "w-1" });
      await expect(other).rejects.toMatchObject({
        code: "EVENT_ID_CONFLICT",
        position: one.position,
      });
    }
    await ask(again, "Go on.");
    expect(lawProblems(await storedEvents(log, "s"))).toEqual([]);
  });

  it("disturbs nothing in the middle of a text, of a tool and of a wait, and a replay repeats it", async () => {
    const held = gate();
    const model = scriptedModel([saying("On", held, "e."), calling(call("work", "c-1")), "Done."]);
    const work = tool({
      inputSchema: z.object({}),
      execute: async () => {
        await session.append("app.ticket-opened", { ticket: "tool" });
        return "ok";
      },
    });
    await using runtime = await createRuntime({
      memory: true,
      agent: { model, tools: { work } },
      events: tickets,
    });
    const session = await runtime.session("s");
    const turn = await session.send("First?");
    await session.append("app.ticket-opened", { ticket: "text" }, { id: "t" });
    held.open();
    await turn.result;
    const second = await session.send("Second?");
    expect((await second.result).text).toBe("Done.");
    await session.append("app.ticket-closed", { ticket: "rest" });
    const events = await storedEvents(runtime.log, "s");
    expect(events.flatMap((event) => tickets.parse(event)?.data.ticket ?? [])).toEqual([
      "text",
      "tool",
      "rest",
    ]);
    expect(lawProblems(events)).toEqual([]);
    const prompts = JSON.stringify((await session.view()).prompt.messages);
    expect(prompts).not.toContain("ticket");
  });

  it("is read by followers, leaves with an export, and comes back with the import", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const session = await runtime.session("s");
    const { position } = await session.append("app.ticket-opened", { ticket: "T-1" }, { id: "w" });
    for await (const event of session.events({ from: position })) {
      expect(event).toMatchObject({ position, id: "w", type: "app.ticket-opened" });
      break;
    }
    const lines = await Array.fromAsync(exportSession(runtime.log, "s"));
    await using log = await openMemoryLog();
    await importSession(log, lines, { as: "copy" });
    expect(await storedEvents(log, "copy")).toEqual(await storedEvents(runtime.log, "s"));
    expect(await verifySession(log, "copy")).toMatchObject({ problems: [] });
  });

  it("is encrypted as a whole, and gone after a redaction", async () => {
    await using log = await openMemoryLog();
    const keys = memoryKeys();
    await using runtime = await createRuntime({
      log,
      agent,
      events: tickets,
      encryption: { keys },
    });
    const session = await runtime.session("s");
    const { position } = await session.append("app.ticket-opened", { ticket: "SECRET" });
    const stored = await log.readAt("s", [position]);
    expect(stored).toMatchObject([{ type: "app.ticket-opened" }]);
    expect(JSON.stringify(stored)).not.toMatch(/SECRET|"ticket"/);
    await session.redact(position);
    const [event] = await runtime.log.readAt("s", [position]);
    expect(event && tickets.parse(event)).toBeUndefined();
    await ask(session, "Still there?");
  });

  it("names its position if it no longer fits its schema, and a default reads older data", () => {
    const event = {
      position: 7,
      time: 1,
      type: "app.ticket-closed" as const,
      data: { number: 4 },
    };
    expect(() => tickets.parse(event)).toThrow(
      expect.objectContaining({ code: "EVENT_INVALID", position: 7 }),
    );
    const later = defineEvents({
      "app.ticket-closed": z.object({ ticket: z.string().default("unknown") }),
    });
    expect(later.parse(event)?.data).toEqual({ ticket: "unknown" });
  });

  it("can be appended through a runtime whose events are not known", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const any: Runtime = runtime;
    const session = await any.session("s");
    const appended = await session.append("app.ticket-closed", { ticket: "T-1" });
    expect(appended.repeated).toBe(false);
  });
});

describe("replay", () => {
  it("appends the events of a program again where they were", async () => {
    const held = gate();
    const model = scriptedModel([saying("On", held, "e."), "Two."]);
    await using runtime = await createRuntime({ memory: true, agent: { model }, events: tickets });
    const session = await runtime.session("s");
    const turn = await session.send("First?");
    await session.append("app.ticket-opened", { ticket: "T-1" }, { id: "t" });
    held.open();
    await turn.result;
    await session.append("app.ticket-closed", { ticket: "T-1" });
    await ask(session, "Second?");
    const { difference } = await replay(await storedEvents(runtime.log, "s"), { model });
    expect(difference).toBeUndefined();
  });
});
