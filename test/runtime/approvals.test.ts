/** Calls that a person has to allow. */

import { tool, type Tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openMemoryLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { allow, refuse } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";

type NeedsApproval = NonNullable<Tool<{ readonly amount: number }, string>["needsApproval"]>;

/** A tool that pays, and what it has paid. */
function payment(needsApproval: NeedsApproval) {
  const paid: number[] = [];
  const pay = tool({
    inputSchema: z.object({ amount: z.number() }),
    // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval,
    execute: ({ amount }): string => {
      paid.push(amount);
      return `paid ${amount}`;
    },
  });
  return { paid, tools: { pay } };
}

function script() {
  return scriptedModel([
    calling(call("pay", "1", { amount: 1 }), call("pay", "2", { amount: 200 })),
    "Done.",
  ]);
}

describe("a call that needs approval", () => {
  it.each(["language-model-call", "stream-text"] as const)(
    "runs with the input that was shown, whatever rules and callbacks do to theirs (%s)",
    async (stepSource) => {
      const paid: number[] = [];
      const change = (input: { amount: number }): void => {
        input.amount *= 2;
      };
      const pay = tool({
        inputSchema: z.object({ amount: z.number() }),
        onInputAvailable: ({ input }) => change(input),
        execute: ({ amount }) => {
          paid.push(amount);
          return "paid";
        },
      });
      const model = scriptedModel([calling(call("pay", "1", { amount: 1 })), "Done."]);
      const toolApproval = ({ toolCall: { input } }: { toolCall: { input: unknown } }) => {
        change(input as { amount: number });
        return "user-approval" as const;
      };
      await using open = await openSession({ model, tools: { pay }, toolApproval }, { stepSource });
      const turn = await open.session.send("Pay.");
      await turn.untilRest();
      const [asked] = (await open.session.view()).approvals;
      await allow(open.session, "1");
      await turn.result;
      expect(paid.map((amount) => ({ amount }))).toEqual([asked?.input]);
    },
  );

  it("runs when it is approved and not before, and never when it is denied", async () => {
    const { paid, tools } = payment(true);
    const model = script();
    await using open = await openSession({ model, tools });
    const turn = await open.session.send("Pay.");
    await seen(open.session, "tool.approval-requested", ({ callId }) => callId === "2");
    expect(paid).toEqual([]);
    await allow(open.session, "1", { reason: "it is little" });
    await seen(open.session, "tool.succeeded", ({ callId }) => callId === "1");
    expect(paid).toEqual([1]);
    await refuse(open.session, "2", { reason: "it is much" });
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Done." });
    expect(paid).toEqual([1]);
    const answer = JSON.stringify(model.calls[1]?.prompt.at(-1));
    expect(answer).toContain("paid 1");
    expect(answer).toContain('{"type":"execution-denied","reason":"it is much"}');
    const answered = (await open.events()).filter(({ type }) => type === "tool.approval-answered");
    expect(answered.map(({ data }) => data)).toEqual([
      { step: 1, callId: "1", approved: true, reason: "it is little" },
      { step: 1, callId: "2", approved: false, reason: "it is much" },
    ]);
  });

  it("leaves the session at rest when nothing else is to be done, which names the calls that wait", async () => {
    const leave = Promise.withResolvers<string>();
    const { tools } = payment(({ amount }) => amount > 100);
    const slow = tool({ inputSchema: z.object({}), execute: () => leave.promise });
    const model = scriptedModel([
      calling(call("slow", "1"), call("pay", "2", { amount: 200 })),
      "Done.",
    ]);
    await using open = await openSession({ model, tools: { ...tools, slow } });
    const { session } = open;
    await session.send("Pay.");
    const resting = session.atRest();
    await seen(session, "tool.approval-requested");
    // The other call still runs.
    leave.resolve("late");
    const { toolCalls, state } = await resting;
    expect(toolCalls.map(({ callId, status }) => [callId, status])).toEqual([
      ["1", "succeeded"],
      ["2", "awaiting-approval"],
    ]);
    expect(state.value).toBe("tools");
    await allow(session, "2");
    const ended = await session.atRest();
    expect(ended.summary.lastEnd).toBe("stop");
    expect(ended.state.value).toEqual({ idle: "waiting" });
  });

  it("is decided by a function of its input; a call for which it returns false runs at once", async () => {
    const { paid, tools } = payment(({ amount }) => amount > 100);
    await using open = await openSession({ model: script(), tools });
    const turn = await open.session.send("Pay.");
    await seen(open.session, "tool.approval-requested", ({ callId }) => callId === "2");
    await seen(open.session, "tool.succeeded", ({ callId }) => callId === "1");
    await allow(open.session, "2");
    await turn.result;
    expect(paid).toEqual([1, 200]);
    const asked = (await open.types()).filter((type) => type === "tool.approval-requested");
    expect(asked).toHaveLength(1);
  });

  it("is decided once by that function, also when its call has to wait for a place", async () => {
    const asked: number[] = [];
    const { paid, tools } = payment(({ amount }) => {
      asked.push(amount);
      return false;
    });
    await using open = await openSession({ model: script(), tools, toolCallConcurrency: 1 });
    await (
      await open.session.send("Pay.")
    ).result;
    expect(paid).toEqual([1, 200]);
    expect(asked).toEqual([1, 200]);
  });

  it("fails, and is not run, when that function throws", async () => {
    const { paid, tools } = payment(() => {
      throw new Error("the bank is closed");
    });
    const model = script();
    await using open = await openSession({ model, tools });
    await (
      await open.session.send("Pay.")
    ).result;
    expect(paid).toEqual([]);
    expect(JSON.stringify(model.calls[1]?.prompt).match(/the bank is closed/g)).toHaveLength(2);
  });

  it("is skipped when the turn is cancelled, and a later approval is refused", async () => {
    const { paid, tools } = payment(true);
    await using open = await openSession({ model: script(), tools });
    const turn = await open.session.send("Pay.");
    await seen(open.session, "tool.approval-requested", ({ callId }) => callId === "2");
    expect(await open.session.cancel()).toMatchObject({ was: "tools", turn: 1 });
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    await expect(allow(open.session, "1")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    expect(paid).toEqual([]);
    const { toolCalls } = await open.session.view();
    expect(toolCalls.map(({ status }) => status)).toEqual(["skipped", "skipped"]);
  });

  it("is skipped by a cancel also while its function has not answered yet", async () => {
    const thinking = gate();
    const { paid, tools } = payment(async () => {
      thinking.arrive?.();
      await thinking.until;
      return false;
    });
    await using open = await openSession({ model: script(), tools });
    const turn = await open.session.send("Pay.");
    await thinking.reached;
    await open.session.cancel();
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    thinking.open();
    await thinking.until;
    expect((await open.session.view()).toolCalls.map(({ status }) => status)).toEqual([
      "skipped",
      "skipped",
    ]);
    expect(paid).toEqual([]);
  });

  it("waits through the death of its process, and runs once when it is allowed after that", async () => {
    const { paid, tools } = payment(true);
    await using log = await openMemoryLog();
    const recorder = severableLog(log);
    const dying = await openSession({ model: script(), tools }, { log: recorder });
    await dying.session.send("Pay.");
    await seen(dying.session, "tool.approval-requested", ({ callId }) => callId === "2");
    recorder.sever();
    await using open = await openSession({ model: scriptedModel(["Done."]), tools }, { log });
    await allow(open.session, "2");
    await refuse(open.session, "1");
    await open.session.idle();
    expect(paid).toEqual([200]);
    const { summary, history } = await open.session.view();
    expect(summary.lastEnd).toBe("stop");
    expect(history.at(-1)).toMatchObject({ kind: "turn-end", turn: 1 });
    expect(await open.types()).not.toContain("session.recovered");
  });
});
