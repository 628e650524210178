/** An approval is answered by an id that is never used twice, once, and its answer stays. */

import { tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  exportSession,
  importSession,
  openMemoryLog,
  TurnlogError,
  viewSession,
  type Agent,
  type EventLog,
  type Session,
} from "../../src/public/index.ts";
import { differenceText, replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import type { Approval } from "../../src/state/index.ts";

/** Pays what the model says, and remembers it; the provider calls each of its calls the same. */
function payer(...amounts: readonly number[]): Agent & { readonly paid: readonly number[] } {
  const paid: number[] = [];
  return {
    paid,
    model: scriptedModel(({ prompt }) => {
      if (prompt.at(-1)?.role !== "user") return "Done.";
      const turn = prompt.filter(({ role }) => role === "user").length;
      return calling(call("pay", "call_0", { amount: amounts[turn - 1] ?? 0 }));
    }),
    tools: {
      pay: tool({
        inputSchema: z.object({ amount: z.number() }),
        // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
        // oxlint-disable-next-line typescript/no-deprecated
        needsApproval: true,
        execute: ({ amount }): string => {
          paid.push(amount);
          return `paid ${amount}`;
        },
      }),
    },
  };
}

/** What the runtime takes of it. */
function agentOf({ model, tools }: Agent): Agent {
  return { model, ...(tools === undefined ? {} : { tools }) };
}

async function asked(session: Session, text = "Pay."): Promise<readonly Approval[]> {
  await session.send(text);
  return (await session.atRest()).approvals.filter(({ status }) => status === "waiting");
}

async function askedOnce(session: Session, text?: string): Promise<Approval> {
  const [approval] = await asked(session, text);
  if (approval === undefined) throw new Error("Nobody was asked.");
  return approval;
}

/** The error with which a command is refused. */
async function refused(command: Promise<unknown>): Promise<TurnlogError> {
  const error = await command.catch((thrown: unknown) => thrown);
  if (TurnlogError.isInstance(error)) return error;
  throw new Error("It was not refused.");
}

async function paying(
  ...amounts: readonly number[]
): Promise<OpenSession & { paid: readonly number[] }> {
  const agent = payer(...amounts);
  return Object.assign(await openSession(agentOf(agent)), { paid: agent.paid });
}

describe("an answer", () => {
  it("that is delivered twice does not answer the next call of the same id", async () => {
    await using open = await paying(1, 1_000_000);
    const first = await askedOnce(open.session);
    expect(await open.session.approve(first.approvalId)).toMatchObject({ status: "recorded" });
    await open.session.idle();
    const second = await askedOnce(open.session);
    expect([first.callId, second.callId]).toEqual(["call_0", "call_0"]);
    expect(await open.session.approve(first.approvalId)).toMatchObject({
      status: "already-answered",
    });
    const { approvals } = await open.session.atRest();
    expect(approvals.map(({ status }) => status)).toEqual(["approved", "waiting"]);
    expect(open.paid).toEqual([1]);
    await open.session.deny(second.approvalId);
    await open.session.idle();
    expect(open.paid).toEqual([1]);
  });

  it("is recorded once, however many requests come at once, and a later one learns that it was repeated", async () => {
    await using open = await paying(5);
    const { session } = open;
    const { approvalId } = await askedOnce(session);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => session.approve(approvalId, { by: "ann" })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 9 }, () => "already-answered"),
      "recorded",
    ]);
    await session.idle();
    const before = (await session.view()).position;
    const again = await session.approve(approvalId, { by: "bob" });
    expect(again).toMatchObject({
      status: "already-answered",
      approval: { answer: { by: "ann" } },
    });
    await session.close();
    expect(await session.approve(approvalId)).toMatchObject({ status: "already-answered" });
    expect((await session.view()).position).toBe(before + 1);
    expect(open.paid).toEqual([5]);
  });

  it("is refused where another was given, with who gave it and how; nothing is recorded", async () => {
    await using open = await paying(5);
    const { session } = open;
    const { approvalId } = await askedOnce(session);
    await session.approve(approvalId, { reason: "it is little", by: "ann" });
    await session.idle();
    const { position } = await session.view();
    const others = [
      () => session.deny(approvalId),
      () => session.approve(approvalId, { always: true }),
      () => session.approve(approvalId, { reason: "why not" }),
    ];
    for (const other of others) {
      const refusal = await refused(other());
      expect(refusal).toMatchObject({ code: "APPROVAL_ANSWERED", session: "s" });
      expect(refusal.details).toEqual({ approvalId });
      expect(refusal.message).toMatch(/approved by ann at position \d+: "it is little"/);
    }
    // What was said before, or less, is the same answer.
    for (const said of [{}, { reason: "it is little" }, { always: false }])
      expect(await session.approve(approvalId, said)).toMatchObject({ status: "already-answered" });
    expect((await session.view()).position).toBe(position);
  });

  it("to an unknown id or a call id is refused, and the error names the waiting ids", async () => {
    await using open = await paying(5);
    const { session } = open;
    expect((await refused(session.approve("call_0"))).message).toContain("None waits here");
    const { approvalId } = await askedOnce(session);
    for (const wrong of ["call_0", "", "s~1~1~call_0~2", `${approvalId}~1`, "other~1~1~call_0~1"]) {
      const { code, message } = await refused(session.deny(wrong));
      expect(code).toBe("COMMAND_REFUSED");
      expect(message).toContain(`These wait: ${approvalId} (pay).`);
    }
    await session.cancel();
    const late = await refused(session.approve(approvalId));
    expect(late).toMatchObject({ code: "COMMAND_REFUSED" });
    expect(late.message).toContain("no longer waits");
    expect((await session.view()).approvals).toMatchObject([{ approvalId, status: "lapsed" }]);
    expect(open.paid).toEqual([]);
  });

  it("for good answers what waits beside it, as the same answer", async () => {
    const agent = payer();
    const model = scriptedModel([
      calling(call("pay", "a", { amount: 1 }), call("pay", "b", { amount: 2 })),
      "Done.",
    ]);
    await using open = await openSession({ ...agentOf(agent), model });
    const [first, second] = await asked(open.session);
    const answered = first?.approvalId ?? "";
    await open.session.approve(answered, { always: true, by: "ann" });
    await open.session.idle();
    expect(agent.paid).toEqual([1, 2]);
    const { approvals } = await open.session.view();
    expect(approvals.map(({ status }) => status)).toEqual(["approved", "approved"]);
    expect(approvals[1]).toMatchObject({ answer: { always: true, by: "ann" } });
    const beside = second?.approvalId ?? "";
    expect(await open.session.approve(beside)).toMatchObject({ status: "already-answered" });
    await expect(open.session.deny(beside)).rejects.toMatchObject({ code: "APPROVAL_ANSWERED" });
  });
});

describe("an approval", () => {
  it("tells call, input, reason and answer, also after the call has ended and after a restart", async () => {
    await using log = await openMemoryLog();
    const agent = payer(7);
    {
      await using open = await openSession(agentOf(agent), { log });
      const waiting = await askedOnce(open.session);
      expect(waiting).toMatchObject({
        approvalId: "s~1~1~call_0~1",
        turn: 1,
        step: 1,
        attempt: 1,
        toolName: "pay",
        input: { amount: 7 },
        status: "waiting",
      });
      expect(waiting).not.toHaveProperty("answer");
      await open.session.approve(waiting.approvalId, { reason: "it is little", by: "ann" });
      await open.session.idle();
    }
    await using open = await openSession(agentOf(agent), { log });
    const view = await open.session.view();
    const answer = { approved: true, reason: "it is little", by: "ann" };
    expect(view.approvals).toMatchObject([
      { approvalId: "s~1~1~call_0~1", status: "approved", answer },
    ]);
    expect(view.toolCalls).toMatchObject([{ status: "succeeded" }]);
    const step = view.history.find((item) => item.kind === "step");
    expect(step?.parts).toMatchObject([
      { kind: "call", outcome: { status: "succeeded" }, approvals: [{ attempt: 1, answer }] },
    ]);
    expect(await open.session.approve("s~1~1~call_0~1")).toMatchObject({
      status: "already-answered",
    });
    expect(agent.paid).toEqual([7]);
    const { difference } = await replay(await open.events(), agentOf(agent));
    expect(difference && differenceText(difference)).toBeUndefined();
  });

  it("about a call whose process died while it ran is another one than that which let it run", async () => {
    await using log = await openMemoryLog();
    const recorder = severableLog(log);
    const agent = payer(3);
    const pay = { ...agent.tools?.["pay"], execute: () => new Promise<string>(() => {}) };
    const asking: Agent = {
      model: agent.model,
      tools: { pay } as NonNullable<Agent["tools"]>,
      toolPolicies: { pay: { onInterrupted: "ask" } },
    };
    const dying = await openSession(asking, { log: recorder });
    const first = await askedOnce(dying.session);
    await dying.session.approve(first.approvalId);
    await seen(dying.session, "tool.started");
    recorder.sever();
    await using open = await openSession(
      { ...agentOf(agent), toolPolicies: { pay: { onInterrupted: "ask" } } },
      { log, recovery: "continue" },
    );
    const { approvals } = await open.session.atRest();
    expect(approvals).toMatchObject([
      { approvalId: "s~1~1~call_0~1", status: "approved" },
      { approvalId: "s~1~1~call_0~2", status: "waiting", again: true },
    ]);
    expect(await open.session.approve(first.approvalId)).toMatchObject({
      status: "already-answered",
    });
    expect(agent.paid).toEqual([]);
    await open.session.approve("s~1~1~call_0~2");
    await open.session.idle();
    expect(agent.paid).toEqual([3]);
  });

  it("that waits where a session is forked is asked anew in the fork; what was answered keeps its id", async () => {
    await using open = await paying(1, 2);
    const { session } = open;
    const first = await askedOnce(session);
    await session.approve(first.approvalId, { by: "ann" });
    await session.idle();
    const second = await askedOnce(session);
    const fork = await session.fork({ id: "f" });
    const twice = await fork.fork({ id: "g" });
    const ids = async (of: Session): Promise<readonly string[]> =>
      (await of.view()).approvals.map(({ approvalId }) => approvalId);
    expect(await ids(session)).toEqual(["s~1~1~call_0~1", "s~2~3~call_0~1"]);
    expect(await ids(fork)).toEqual(["s~1~1~call_0~1", "f~2~3~call_0~1"]);
    expect(await ids(twice)).toEqual(["s~1~1~call_0~1", "g~2~3~call_0~1"]);
    await expect(fork.approve(second.approvalId)).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await expect(session.approve("f~2~3~call_0~1")).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await fork.deny("f~2~3~call_0~1");
    await fork.idle();
    expect((await session.view()).approvals[1]).toMatchObject({ status: "waiting" });
    await twice.approve("g~2~3~call_0~1");
    await twice.idle();
    expect(open.paid).toEqual([1, 2]);
    const after = await fork.fork({ id: "h" });
    expect(await ids(after)).toEqual(["s~1~1~call_0~1", "f~2~3~call_0~1"]);
    await session.cancel();
  });

  it("has another id in an import under another name", async () => {
    await using open = await paying(1);
    const { approvalId } = await askedOnce(open.session);
    const lines = await Array.fromAsync(exportSession(open.log, "s"));
    await importSession(open.log, lines, { as: "copy" });
    const [copied] = (await viewSession(open.log, "copy")).approvals;
    expect(copied).toMatchObject({ approvalId: "copy~1~1~call_0~1", status: "waiting" });
    const copy = await open.runtime.session("copy");
    await expect(copy.approve(approvalId)).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await copy.deny("copy~1~1~call_0~1");
    await copy.idle();
    expect((await open.session.view()).approvals).toMatchObject([
      { approvalId, status: "waiting" },
    ]);
    await open.session.cancel();
  });

  it("has an id in a log of the first release, each another one", async () => {
    let found = 0;
    for (const name of fixtureNames) {
      await using log = await openMemoryLog();
      await log.append("old", "none", await readFixture(name));
      const { approvals } = await viewSession(log, "old");
      const ids = new Set(approvals.map(({ approvalId }) => approvalId));
      expect(ids.size).toBe(approvals.length);
      for (const { status } of approvals) expect(status).not.toBe("waiting");
      found += ids.size;
    }
    expect(found).toBeGreaterThan(10);
  });

  it("has an id that no other has, in plain characters, whatever a provider calls its calls", async () => {
    const ids = fc.uniqueArray(fc.string({ unit: "binary", maxLength: 12 }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(ids, fc.constantFrom("s", "s.1", "s:1@x-_"), async (callIds, name) => {
        await using log = await openMemoryLog();
        const agent = payer();
        const model = scriptedModel([
          calling(...callIds.map((id) => call("pay", id, { amount: 1 }))),
          "Done.",
        ]);
        const approvals = await waitingIn(log, name, { ...agentOf(agent), model });
        expect(approvals.map(({ callId }) => callId)).toEqual(callIds);
        const made = approvals.map(({ approvalId }) => approvalId);
        expect(new Set(made).size).toBe(callIds.length);
        for (const id of made) expect(id).toMatch(/^[\w.:@-]+~1~1~[\w.:@=-]*~1$/);
      }),
      runs(30),
    );
  });
});

async function waitingIn(log: EventLog, name: string, agent: Agent): Promise<readonly Approval[]> {
  await using runtime = await createRuntime({ log, agent });
  return await asked(await runtime.session(name));
}
