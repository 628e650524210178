/** A running tool asks a person: its call waits in the inbox, and runs again with the answer, in any process. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  askPerson,
  callIdentity,
  encryptedLog,
  exportSession,
  importSession,
  memoryKeys,
  openMemoryLog,
  verifySession,
  type Agent,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { allow, idOfCall, refuse } from "../support/answering.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

const seats = {
  kind: "form",
  from: "Bookings",
  message: "How many seats?",
  schema: { type: "object", properties: { seats: { type: "integer" } }, required: ["seats"] },
} as const;
const login = { kind: "login-required", from: "Bookings", url: "https://book.test/in" } as const;

/** An agent whose tool asks questions one after another, and tells what it was answered. */
function booking(...questions: readonly (typeof seats | typeof login)[]) {
  const ran: unknown[] = [];
  const agent: Agent = {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "user" ? calling(call("book", "1", { show: "Faust" })) : "Booked.",
    ),
    tools: {
      book: tool({
        inputSchema: z.object({ show: z.string() }),
        execute: (input, options) => {
          ran.push({ input, ...callIdentity(options) });
          const kept = questions.map((question, index) => askPerson(options, question, { index }));
          return kept.map(({ content, state, by }) => ({ content, state, by }));
        },
      }),
    },
  };
  return { agent, ran };
}

async function asked(session: Session) {
  const { approvals } = await session.atRest();
  return approvals.filter(({ status }) => status === "waiting");
}

async function problemsOf({ log }: OpenSession): Promise<readonly unknown[]> {
  return (await verifySession(log, "s")).problems;
}

describe("a tool that asks a person", () => {
  it("waits in the inbox with its question, and runs again with the answer", async () => {
    const { agent, ran } = booking(seats);
    await using open = await openSession(agent);
    const { session, runtime } = open;
    const turn = await session.send("Book Faust.");
    expect(await turn.untilRest()).toMatchObject({
      kind: "waiting",
      approvals: [{ callId: "1", question: seats, again: true, input: { show: "Faust" } }],
    });
    expect(await runtime.approvals()).toMatchObject([
      { kind: "approval", session: "s", approval: { question: seats } },
    ]);
    await allow(session, "1", { content: { seats: 2 }, by: "ann" });
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Booked." });
    const effectId = "s/1/1";
    expect(ran).toMatchObject([
      { attempt: 1, effectId },
      { attempt: 2, effectId },
    ]);
    const succeeded = (await open.events()).find(({ type }) => type === "tool.succeeded");
    expect(succeeded?.data).toMatchObject({
      output: [{ content: { seats: 2 }, state: { index: 0 }, by: "ann" }],
    });
    expect(await problemsOf(open)).toEqual([]);
  });

  it("asks several things one after another, in processes of their own", async () => {
    const { agent } = booking(login, seats);
    const first = await openSession(agent);
    await (await first.session.send("Book Faust.", { id: "m" })).untilRest();
    const second = await reopen(first, agent);
    expect(await asked(second.session)).toMatchObject([{ question: login }]);
    await allow(second.session, "1");
    expect(await asked(second.session)).toMatchObject([{ question: seats }]);
    const third = await reopen(second, agent);
    await allow(third.session, "1", { content: { seats: 3 } });
    const turn = await third.session.turn("m");
    expect(await turn.result).toMatchObject({ text: "Booked." });
    expect(await problemsOf(third)).toEqual([]);
    const events = await third.events();
    expect((await replay(events, agent)).difference).toBeUndefined();
    await third[Symbol.asyncDispose]();
    await first.log.close();
  });

  it.each<[string, object, string]>([
    ["values that do not fit the form", { content: { seats: "two" } }, "INVALID_INPUT"],
    ["no values for a form that needs some", {}, "INVALID_INPUT"],
    ["an answer for all later calls", { content: { seats: 1 }, always: true }, "COMMAND_REFUSED"],
  ])("refuses %s, and still waits", async (_, answer, code) => {
    await using open = await openSession(booking(seats).agent);
    await (await open.session.send("Book Faust.")).untilRest();
    await expect(allow(open.session, "1", answer)).rejects.toMatchObject({ code });
    expect(await asked(open.session)).toHaveLength(1);
    await refuse(open.session, "1");
  });

  it("refuses values where none are asked for", async () => {
    await using open = await openSession(booking(login).agent);
    await (await open.session.send("Book Faust.")).untilRest();
    const answer = allow(open.session, "1", { content: { seats: 1 } });
    await expect(answer).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await refuse(open.session, "1");
  });

  it("ends as denied if the person declines, and the model is told", async () => {
    const { agent, ran } = booking(seats);
    await using open = await openSession(agent);
    const turn = await open.session.send("Book Faust.");
    await turn.untilRest();
    await refuse(open.session, "1", { reason: "Not today." });
    expect(await turn.result).toMatchObject({ text: "Booked." });
    expect(ran).toHaveLength(1);
    expect((await open.types()).filter((type) => type === "tool.denied")).toHaveLength(1);
    await open.session.idle();
    expect(await problemsOf(open)).toEqual([]);
  });

  it("ends as unknown if it asks in a turn that stops after its tools, and a replay agrees", async () => {
    const [running, cancelled] = [gate(), gate()];
    const book = tool({
      inputSchema: z.object({}),
      execute: async (_, options) => {
        running.open();
        await cancelled.until;
        return askPerson(options, seats);
      },
    });
    const agent = () => ({
      model: scriptedModel([calling(call("book", "1", {}))]),
      tools: { book },
    });
    await using open = await openSession(agent());
    const turn = await open.session.send("Book Faust.");
    await running.until;
    const cancelling = open.session.cancel({ mode: "after-tools" });
    await eventually(async () => {
      expect(await open.types()).toContain("turn.cancel-requested");
    });
    cancelled.open();
    await cancelling;
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    expect(await asked(open.session)).toEqual([]);
    const events = await open.events();
    const unknown = events.find(({ type }) => type === "tool.unknown");
    expect(unknown?.data).toMatchObject({ callId: "1", reason: "cancelled" });
    expect((await replay(events, agent())).difference).toBeUndefined();
  });

  it("ends as unknown if its turn is cancelled while it waits", async () => {
    await using open = await openSession(booking(seats).agent);
    const turn = await open.session.send("Book Faust.");
    await turn.untilRest();
    await open.session.cancel();
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    const unknown = (await open.events()).find(({ type }) => type === "tool.unknown");
    expect(unknown?.data).toMatchObject({ callId: "1", reason: "cancelled" });
    expect(await problemsOf(open)).toEqual([]);
  });

  it.each([
    ["approved", allow],
    ["denied", refuse],
  ])(
    "is sound once its question was %s and redacted, in a store and in a file",
    async (_, answer) => {
      const log = encryptedLog(await openMemoryLog(), memoryKeys());
      await using open = await openSession(booking(login).agent, { log });
      const turn = await open.session.send("Book Faust.");
      await turn.untilRest();
      await answer(open.session, "1");
      await turn.result;
      const called = (await open.events()).find(({ type }) => type === "part.tool-call");
      await open.session.redact(called?.position ?? 0);
      expect(await problemsOf(open)).toEqual([]);
      await importSession(await openMemoryLog(), exportSession(log, "s"));
    },
  );

  it("accepts the same answer again, and refuses another one", async () => {
    await using open = await openSession(booking(seats).agent);
    const turn = await open.session.send("Book Faust.");
    await turn.untilRest();
    const id = await idOfCall(open.session, "1");
    const { session } = open;
    await session.approve(id, { content: { seats: 2 } });
    await turn.result;
    expect(await session.approve(id, { content: { seats: 2 } })).toMatchObject({
      status: "already-answered",
    });
    const other = session.approve(id, { content: { seats: 5 } });
    await expect(other).rejects.toMatchObject({ code: "APPROVAL_ANSWERED" });
  });

  it("cannot ask with an address that is no web address", async () => {
    const { agent } = booking({ ...login, url: "javascript:alert(1)" } as unknown as typeof login);
    await using open = await openSession(agent);
    await (
      await open.session.send("Book Faust.")
    ).result;
    const failed = (await open.events()).find(({ type }) => type === "tool.failed");
    expect(failed?.data).toMatchObject({ error: { code: "INVALID_INPUT" } });
  });
});
