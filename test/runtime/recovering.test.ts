/** What a process that continues does with what a dead one left: how often, and with which calls. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  callIdentity,
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Session,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { allow } from "../support/answering.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";

const inputSchema = z.object({});
const hanging = tool({ inputSchema, execute: () => new Promise<string>(() => {}) });

/** Opens a session on a log, and is cut off from it when what is waited for has happened. */
async function dieAt(log: EventLog, agent: Agent, until: (session: Session) => Promise<unknown>) {
  const mortal = severableLog(log);
  const { session } = await openSession(agent, { log: mortal, recovery: "continue" });
  await until(session);
  mortal.sever();
}

describe("a turn whose process dies each time", () => {
  it.each([0, 1, 2])("is gone on with %i times, as often as it is allowed", async (most) => {
    const log = await openMemoryLog();
    const agent = (): Agent => ({
      model: scriptedModel([calling(call("pay", "1"))]),
      tools: { pay: hanging },
      toolPolicies: { pay: { idempotent: true } },
    });
    for (let death = 0; death <= most; death++) {
      await dieAt(log, agent(), async (session) => {
        if (death === 0) await session.send("Pay.");
        await seen(session, "tool.started", ({ attempt }) => attempt === death + 1);
      });
    }
    const options = { log, recovery: "continue", maxRecoveries: most } as const;
    const model = scriptedModel(["A new turn."]);
    await using open = await openSession({ ...agent(), model }, options);
    await open.session.idle();
    const policies = (await open.events()).flatMap(({ type, data }) =>
      type === "session.recovered" ? [data.policy] : [],
    );
    expect(policies).toEqual([...Array.from({ length: most }, () => "continue"), "stop"]);
    expect((await open.session.view()).summary.lastEnd).toBe("interrupted");
    expect(await (await open.session.send("Go on.")).result).toMatchObject({
      finishReason: "stop",
    });
  });
});

describe("a call that a dead process had started", () => {
  it.each(["waits for its turn", "waits for a person"])(
    "stays unknown when it %s to run again and the turn is cancelled",
    async (how) => {
      const log = await openMemoryLog();
      const agent = (policy: object): Agent => ({
        model: scriptedModel([calling(call("slow", "1"), call("pay", "2"))]),
        tools: { slow: hanging, pay: hanging },
        toolPolicies: { slow: { idempotent: true }, pay: policy },
        toolCallConcurrency: how.includes("person") ? 2 : 1,
      });
      await dieAt(log, { ...agent({}), toolCallConcurrency: 2 }, async (session) => {
        await session.send("Pay.");
        await seen(session, "tool.started", ({ callId }) => callId === "2");
      });
      const policy = how.includes("person") ? { onInterrupted: "ask" } : { idempotent: true };
      await using open = await openSession(agent(policy), { log, recovery: "continue" });
      await seen(open.session, "tool.started", ({ callId, attempt }) => callId + attempt === "12");
      if (how.includes("person")) await seen(open.session, "tool.approval-requested");
      await open.session.cancel();
      const ends = (await open.events()).flatMap(({ type, data }) =>
        type.startsWith("tool.") && "callId" in data && data.callId === "2" ? [type] : [],
      );
      expect(ends.at(-1)).toBe("tool.unknown");
      expect(ends.filter((type) => type === "tool.started")).toHaveLength(1);
    },
  );
});

const asking = { toolApproval: () => "user-approval" as const };

it("calls that wait run after a restart when one was answered for good, and the process died with the answer", async () => {
  const ran: string[] = [];
  const book = tool({
    inputSchema,
    execute: (_, { toolCallId }) => {
      ran.push(toolCallId);
      return "booked";
    },
  });
  const agent: Agent = {
    ...asking,
    model: scriptedModel([calling(call("book", "1"), call("book", "2")), "Booked."]),
    tools: { book },
  };
  await using whole = await openSession(agent);
  const turn = await whole.session.send("Book twice.");
  await seen(whole.session, "tool.approval-requested", ({ callId }) => callId === "2");
  await allow(whole.session, "1", { always: true });
  await turn.result;
  const events = await whole.events();
  const answer = events.find(({ type }) => type === "tool.approval-answered");
  if (answer === undefined) throw new Error("Nothing was answered.");
  await using log = await openMemoryLog();
  await log.append("s", "none", events.slice(0, answer.position));
  ran.length = 0;
  const later = { ...agent, model: scriptedModel(["Booked."]) };
  await using open = await openSession(later, { log, recovery: "continue" });
  await open.session.idle();
  expect(ran.toSorted()).toEqual(["1", "2"]);
  const asked = (await open.types()).filter((type) => type === "tool.approval-requested");
  expect(asked).toHaveLength(2);
});

it("a call that waits for a person has the same effect id in a fork, and in a fork of that", async () => {
  const effects: string[] = [];
  const pay = tool({
    inputSchema,
    execute: (_, options) => {
      const { session, effectId } = callIdentity(options);
      effects.push(`${session}: ${effectId}`);
      return "paid";
    },
  });
  const model = scriptedModel((_, index) => (index === 0 ? calling(call("pay", "1")) : "Paid."));
  await using open = await openSession({ ...asking, model, tools: { pay } });
  await open.session.send("Pay.");
  await seen(open.session, "tool.approval-requested");
  const fork = await open.session.fork({ id: "fork" });
  const inner = await fork.fork({ id: "inner" });
  const innermost = await inner.fork({ id: "innermost" });
  for (const session of [innermost, inner, fork, open.session]) {
    await allow(session, "1");
    await session.idle();
  }
  expect(effects).toEqual(["innermost: s/1/1", "inner: s/1/1", "fork: s/1/1", "s: s/1/1"]);
  const [started] = (await storedEvents(open.log, "innermost")).filter(
    ({ type }) => type === "tool.started",
  );
  expect(started?.data).toMatchObject({ effectId: "s/1/1", attempt: 1 });
});

it("a session's snapshots are stored when its events are durable, and not before", async () => {
  await using log = await openMemoryLog();
  const late: string[] = [];
  const saved: number[] = [];
  let appending: Promise<unknown> = Promise.resolve();
  const slow = wrapLog(log, {
    append: (...given) => {
      const before = appending;
      const append = async () => {
        await before;
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
        return await log.append(...given);
      };
      const appended = append();
      appending = appended;
      return appended;
    },
    saveSnapshot: async (session, snapshot) => {
      const { position, projection } = snapshot;
      saved.push(position);
      const revision = await log.revision(session);
      if (position > revision) late.push(`${projection} of ${position} at ${revision}`);
      await log.saveSnapshot(session, snapshot);
    },
  });
  await using runtime = await createRuntime({
    log: slow,
    agent: { model: scriptedModel(["One.", "Two."]) },
  });
  const session = await runtime.session("s");
  for (const text of ["Go.", "Go on."]) {
    await (
      await session.send(text)
    ).result;
  }
  await runtime.close();
  expect(saved.length).toBeGreaterThan(0);
  expect(late).toEqual([]);
});
