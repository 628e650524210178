/** How single tools are treated: after a restart, with a limit of their own, with answers for good. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callIdentity, openMemoryLog, type Agent } from "../../src/public/index.ts";
import type { CallIdentity } from "../../src/runtime/index.ts";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { allow, refuse } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";

const nothing = z.object({});

/** A tool that never ends in the process that dies and tells who called it. */
function payment(calls: CallIdentity[], ends: boolean) {
  return tool({
    inputSchema: nothing,
    execute: async (_, options) => {
      calls.push(callIdentity(options));
      return ends ? "paid" : await new Promise<never>(() => {});
    },
  });
}

async function killedWhilePaying(policy: Agent["toolPolicies"], calls: CallIdentity[]) {
  const log = await openMemoryLog();
  const mortal = severableLog(log);
  const dying = await openSession(
    {
      model: scriptedModel([calling(call("pay", "1"))]),
      tools: { pay: payment(calls, false) },
    },
    { log: mortal },
  );
  await dying.session.send("Pay.");
  await seen(dying.session, "tool.started");
  await expect.poll(() => calls.length).toBe(1);
  mortal.sever();
  const model = scriptedModel(["I see."]);
  const agent = { model, tools: { pay: payment(calls, true) }, toolPolicies: policy ?? {} };
  return { model, open: await openSession(agent, { log, recovery: "continue" }) };
}

describe("a call that was running when its process died, in a turn that continues", () => {
  it("runs again with the same effect id when its tool is idempotent", async () => {
    const calls: CallIdentity[] = [];
    const { open, model } = await killedWhilePaying({ pay: { idempotent: true } }, calls);
    await using _ = open;
    await open.session.idle();
    expect(calls).toEqual([
      { session: "s", step: 1, attempt: 1, effectId: "s/1/1" },
      { session: "s", step: 1, attempt: 2, effectId: "s/1/1" },
    ]);
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("paid");
  });

  it("is reported as unknown by default, and the model is asked to check before it repeats it", async () => {
    const calls: CallIdentity[] = [];
    const { open, model } = await killedWhilePaying({}, calls);
    await using _ = open;
    await open.session.idle();
    expect(calls).toHaveLength(1);
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("Outcome unknown");
  });

  it("waits for a person when its tool says so, and runs again only when that person agrees", async () => {
    const calls: CallIdentity[] = [];
    const { open } = await killedWhilePaying({ pay: { onInterrupted: "ask" } }, calls);
    await using _ = open;
    const asked = await seen(open.session, "tool.approval-requested");
    expect(asked.data.reason).toContain("Run it again?");
    expect(calls).toHaveLength(1);
    await allow(open.session, "1");
    await open.session.idle();
    expect(calls.map(({ attempt, effectId }) => [attempt, effectId])).toEqual([
      [1, "s/1/1"],
      [2, "s/1/1"],
    ]);
  });

  it("stays unknown when that person does not want it to run again", async () => {
    const calls: CallIdentity[] = [];
    const { open, model } = await killedWhilePaying({ pay: { onInterrupted: "ask" } }, calls);
    await using _ = open;
    await seen(open.session, "tool.approval-requested");
    await refuse(open.session, "1");
    await open.session.idle();
    expect(calls).toHaveLength(1);
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("Outcome unknown");
  });
});

it("a turn that dies again and again is not gone on with forever", async () => {
  const log = await openMemoryLog();
  const agent = () => ({
    model: scriptedModel([calling(call("pay", "1"))]),
    tools: { pay: payment([], false) },
    toolPolicies: { pay: { idempotent: true } },
  });
  for (let death = 0; death <= 3; death++) {
    const mortal = severableLog(log);
    const open = await openSession(agent(), { log: mortal, recovery: "continue" });
    if (death === 0) await open.session.send("Pay.");
    await seen(open.session, "tool.started", (data) => data.attempt === death + 1);
    mortal.sever();
  }
  await using open = await openSession(agent(), { log, recovery: "continue" });
  await open.session.idle();
  const recovered = (await open.events()).filter((event) => event.type === "session.recovered");
  expect(recovered.map(({ data }) => data.policy)).toEqual([
    "continue",
    "continue",
    "continue",
    "stop",
  ]);
  expect((await open.session.view()).summary.lastEnd).toBe("interrupted");
});

it("a tool with its own limit never runs more often than that at once", async () => {
  let running = 0;
  let most = 0;
  const counted = tool({
    inputSchema: nothing,
    execute: async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return "done";
    },
  });
  const calls = Array.from({ length: 6 }, (_, index) => call("counted", String(index)));
  await using open = await openSession({
    model: scriptedModel([calling(...calls), "All done."]),
    tools: { counted },
    toolPolicies: { counted: { concurrency: 2 } },
  });
  expect(await (await open.session.send("Go.")).result).toMatchObject({ text: "All done." });
  expect(most).toBe(2);
});

describe("an answer for good", () => {
  const ran: string[] = [];
  const guarded = tool({
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }) => {
      ran.push(name);
      return name;
    },
  });
  const asks = (id: string) => call("guarded", id, { name: id });

  it("holds for the calls that wait, and for every later one, also after a restart", async () => {
    ran.length = 0;
    const log = await openMemoryLog();
    const agent: Agent = {
      model: scriptedModel([calling(asks("a"), asks("b")), calling(asks("c")), "Done."]),
      tools: { guarded },
      toolApproval: { guarded: "user-approval" },
    };
    {
      await using open = await openSession(agent, { log });
      const turn = await open.session.send("Go.");
      await seen(open.session, "tool.approval-requested", ({ callId }) => callId === "b");
      expect(ran).toEqual([]);
      await allow(open.session, "a", { always: true });
      await turn.result;
      expect(ran).toEqual(["a", "b", "c"]);
    }
    const later = { ...agent, model: scriptedModel([calling(asks("d")), "Done."]) };
    await using open = await openSession(later, { log });
    await (
      await open.session.send("Once more.")
    ).result;
    expect(ran).toEqual(["a", "b", "c", "d"]);
  });

  it("is taken back for later calls, also after a restart and in a replay", async () => {
    ran.length = 0;
    const log = await openMemoryLog();
    const script = [calling(asks("a")), "First.", calling(asks("b")), "Second."];
    const agent: Agent = {
      model: scriptedModel(script.slice(0, 2)),
      tools: { guarded },
      toolApproval: () => "user-approval",
    };
    {
      await using open = await openSession(agent, { log });
      const turn = await open.session.send("Go.");
      await seen(open.session, "tool.approval-requested");
      await allow(open.session, "a", { always: true });
      await turn.result;
      await expect(open.session.forgetApproval("other")).rejects.toMatchObject({
        code: "COMMAND_REFUSED",
        message: expect.stringMatching(
          /"other" has no permanent answer\. Answered permanently: guarded/,
        ) as unknown,
      });
      await open.session.forgetApproval("guarded");
      await expect(open.session.forgetApproval("guarded")).rejects.toThrow(
        /has no permanent answer/,
      );
    }
    const later = { ...agent, model: scriptedModel(script.slice(2)) };
    await using open = await openSession(later, { log });
    await open.session.send("Once more.");
    const { toolCalls } = await open.session.atRest();
    expect(toolCalls.map(({ status }) => status)).toEqual(["succeeded", "awaiting-approval"]);
    await allow(open.session, "b");
    await open.session.idle();
    expect(ran).toEqual(["a", "b"]);
    const events = await open.events();
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
  });

  it("refuses later calls without asking when it was a refusal, and the model gets the reason", async () => {
    ran.length = 0;
    const model = scriptedModel([calling(asks("a")), calling(asks("b")), "I give up."]);
    await using open = await openSession({
      model,
      tools: { guarded },
      toolApproval: () => "user-approval",
    });
    const turn = await open.session.send("Go.");
    await seen(open.session, "tool.approval-requested");
    await refuse(open.session, "a", { always: true, reason: "never here" });
    await turn.result;
    expect(ran).toEqual([]);
    expect((await open.types()).filter((type) => type === "tool.approval-requested")).toHaveLength(
      1,
    );
    expect(JSON.stringify(model.calls[2]?.prompt).match(/never here/g)).toHaveLength(2);
  });
});
