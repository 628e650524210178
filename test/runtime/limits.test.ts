/** What a call and a turn may not have more of: time and repetition. Time is in the test's hand. */

import { once } from "node:events";
import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const nothing = z.object({});
const MINUTE = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a model call that takes too long", () => {
  it("is tried again when the first token does not come, and says that it was late", async () => {
    const late = gate();
    const model = scriptedModel([calling(late), "Here I am."]);
    await using open = await openSession(
      { model, timeout: { firstChunkMs: MINUTE } },
      { timer: impatientTimer },
    );
    const turn = await open.session.send("Hello?");
    await late.reached;
    vi.advanceTimersByTime(MINUTE);
    expect(await turn.result).toMatchObject({ text: "Here I am.", finishReason: "stop" });
    const [retrying] = (await open.events()).filter((event) => event.type === "step.retrying");
    expect(retrying?.data).toMatchObject({
      kind: "timeout",
      error: { message: "The model took longer than 60000 ms for the first token." },
    });
    expect(retrying?.data.usage).toBeUndefined();
  });

  it("keeps what came before the next token did not, and continues from there", async () => {
    const late = gate();
    const model = scriptedModel([saying("Half a ", late), "sentence."]);
    await using open = await openSession(
      { model, timeout: { firstChunkMs: 1, chunkMs: MINUTE } },
      { timer: impatientTimer },
    );
    const turn = await open.session.send("Say it.");
    await late.reached;
    await seen(open.session, "part.text-delta");
    vi.advanceTimersByTime(MINUTE - 1);
    expect(await open.types()).not.toContain("step.retrying");
    vi.advanceTimersByTime(1);
    expect(await turn.result).toMatchObject({ finishReason: "stop" });
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt).toContain("Half a ");
    expect(prompt).toContain("was cut off");
    const { history } = await open.session.view();
    expect(history.filter((item) => item.kind === "step").map((step) => step.status)).toEqual([
      "failed",
      "finished",
    ]);
  });

  it("fails for good when every attempt is late, and says of which kind the failure is", async () => {
    const late = [gate(), gate()];
    const model = scriptedModel(late.map((hold) => calling(hold)));
    await using open = await openSession(
      { model, maxRetries: 1, timeLimits: { callMs: MINUTE } },
      { timer: impatientTimer },
    );
    const turn = await open.session.send("Hello?");
    const failing = turn.result.catch((error: unknown) => error);
    for (const hold of late) {
      await hold.reached;
      vi.advanceTimersByTime(MINUTE);
    }
    expect(await failing).toMatchObject({ code: "TURN_FAILED" });
    const failed = (await open.events()).find((event) => event.type === "step.failed");
    expect(failed?.data).toMatchObject({ kind: "timeout" });
  });
});

describe("a turn whose time is up", () => {
  it("ends as timed out, and its messages wait for somebody to look", async () => {
    const hold = gate();
    const model = scriptedModel([saying("Thinking ", hold)]);
    await using open = await openSession({ model, timeout: { totalMs: MINUTE } });
    const turn = await open.session.send("Think.");
    await hold.reached;
    await seen(open.session, "part.text-delta");
    await open.session.send("And?", { id: "later" });
    vi.advanceTimersByTime(MINUTE);
    expect(await turn.result).toMatchObject({ finishReason: "timed-out", text: "Thinking " });
    const { queue, state } = await open.session.view();
    expect(state.context.held).toBe(true);
    expect(queue.map(({ id }) => id)).toEqual(["later"]);
  });

  const deaf = tool({ inputSchema: nothing, execute: () => new Promise<string>(() => {}) });
  const granting = {
    timeout: { totalMs: MINUTE },
    timeLimits: { lastStep: true },
    tools: { deaf },
  };

  it("is granted one step to conclude in, with a note to the model and without tools", async () => {
    const model = scriptedModel([
      calling(call("deaf", "1")),
      calling({ type: "text", deltas: ["In short: no."] }, call("deaf", "2")),
    ]);
    await using open = await openSession({ model, ...granting });
    const turn = await open.session.send("Look it up.");
    await seen(open.session, "tool.started");
    vi.advanceTimersByTime(MINUTE);
    // The grace period of the tool.
    vi.advanceTimersByTime(1);
    expect(await turn.result).toMatchObject({ finishReason: "timed-out", text: "In short: no." });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("The time for this turn is up");
    const { toolCalls } = await open.session.view();
    expect(toolCalls.map(({ callId, status }) => [callId, status])).toEqual([
      ["1", "unknown"],
      ["2", "skipped"],
    ]);
  });

  it("is granted no more than that one, and no more time for it than the turn had", async () => {
    const [first, second] = [gate(), gate()];
    const model = scriptedModel([saying("Well, ", first), saying("in short ", second), "Never."]);
    await using open = await openSession({ model, ...granting });
    const turn = await open.session.send("Think.");
    await first.reached;
    vi.advanceTimersByTime(MINUTE);
    await second.reached;
    await seen(open.session, "part.text-delta", ({ text }) => text === "in short ");
    vi.advanceTimersByTime(MINUTE);
    expect(await turn.result).toMatchObject({ finishReason: "timed-out", text: "in short " });
    const limits = (await open.events()).filter((event) => event.type === "turn.limit-reached");
    expect(limits.map(({ data }) => data.lastStep)).toEqual([true, false]);
    expect(model.calls).toHaveLength(2);
  });

  it.each(["totalMs", "stepMs"])("is counted anew from a person's answer on: %s", async (limit) => {
    const wait = tool({
      inputSchema: nothing,
      execute: async (_, { abortSignal }) => {
        await once(abortSignal ?? new EventTarget(), "abort");
      },
    });
    await using open = await openSession({
      model: scriptedModel([calling(call("wait", "1"))]),
      tools: { wait },
      toolApproval: () => "user-approval",
      timeout: { [limit]: MINUTE },
    });
    await open.session.send("Go.");
    await seen(open.session, "tool.approval-requested");
    vi.advanceTimersByTime(2 * MINUTE);
    await allow(open.session, "1");
    await seen(open.session, "tool.started");
    vi.advanceTimersByTime(MINUTE - 1);
    expect((await open.session.view()).state.context.stopping).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect((await open.session.view()).state.context.stopping).toBe("timed-out");
  });

  it("is not counted while its session sleeps, and anew when it is woken up", async () => {
    await using open = await openSession(
      {
        model: scriptedModel([calling(call("echo", "1", { value: 1 })), "Done."]),
        tools: { echo },
        toolApproval: () => "user-approval",
        timeout: { totalMs: 2 * MINUTE },
      },
      { idleAfterMs: MINUTE },
    );
    const turn = await open.session.send("Go.");
    await seen(open.session, "tool.approval-requested");
    await open.session.view();
    const before = await open.events();
    vi.advanceTimersByTime(MINUTE);
    // Nothing that could wake it up.
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(4 * MINUTE);
    expect(await open.events()).toEqual(before);
    await open.session.view();
    vi.advanceTimersByTime(MINUTE - 1);
    await allow(open.session, "1");
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Done." });
  });

  it("ends although it was to stop after a tool that does not end", async () => {
    await using open = await openSession({
      ...granting,
      model: scriptedModel([calling(call("deaf", "1")), "Never said."]),
    });
    await open.session.send("Go.");
    await seen(open.session, "tool.started");
    const cancelled = open.session.cancel({ mode: "after-tools" });
    await seen(open.session, "turn.cancel-requested");
    vi.advanceTimersByTime(MINUTE);
    vi.advanceTimersByTime(1);
    expect(await cancelled).toMatchObject({
      ended: "cancelled",
      kept: { calls: [{ status: "unknown" }] },
    });
  });
});

describe("a turn that goes in circles", () => {
  const same = (id: string) => calling(call("echo", id, { value: "again" }));

  it("ends when the same calls come too often on end", async () => {
    const model = scriptedModel([same("1"), same("2"), same("3"), "Never said."]);
    await using open = await openSession({
      model,
      tools: { echo },
      loopGuard: { calls: 3, texts: 3 },
    });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "repeating" });
    expect(model.calls).toHaveLength(3);
  });

  it("continues when the calls differ, or without a guard", async () => {
    const different = calling(call("echo", "2", { value: "something else" }));
    const script = [same("1"), different, same("3"), "Done."];
    const limits = { calls: 2, texts: 2 };
    await using one = await openSession({
      model: scriptedModel(script),
      tools: { echo },
      loopGuard: limits,
    });
    expect(await (await one.session.send("Go.")).result).toMatchObject({ finishReason: "stop" });
    await using other = await openSession({
      model: scriptedModel([same("1"), same("2"), same("3"), "Done."]),
      tools: { echo },
      loopGuard: false,
    });
    expect(await (await other.session.send("Go.")).result).toMatchObject({ finishReason: "stop" });
  });
});

describe("a limit beyond what one timer of the system counts", () => {
  const day = 24 * 60 * MINUTE;

  beforeEach(() => {
    // As Node counts it, which the fake does not know.
    const count = globalThis.setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((due, ms = 1) =>
      count(due, ms <= 2 ** 31 - 1 ? ms : 1),
    );
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const slowTool = () => {
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<string>();
    const slow = tool({
      inputSchema: nothing,
      execute: () => {
        entered.resolve();
        return leave.promise;
      },
    });
    return { slow, entered: entered.promise, leave };
  };

  it("is waited for to the end, and not a millisecond less", async () => {
    const { slow, entered } = slowTool();
    const model = scriptedModel([calling(call("slow", "1")), "Never said."]);
    await using open = await openSession({
      model,
      tools: { slow },
      timeout: { totalMs: 60 * day },
    });
    const turn = await open.session.send("Go.");
    await entered;
    vi.advanceTimersByTime(60 * day - 1);
    expect((await open.session.view()).toolCalls).toMatchObject([{ status: "running" }]);
    vi.advanceTimersByTime(1);
    await seen(open.session, "turn.limit-reached");
    vi.advanceTimersByTime(MINUTE);
    expect(await turn.result).toMatchObject({ finishReason: "timed-out" });
  });

  it("is switched off by Infinity: for turns, calls, tools and idle sessions", async () => {
    const none = Number.POSITIVE_INFINITY;
    const { slow, entered, leave } = slowTool();
    const model = scriptedModel([calling(call("slow", "1")), "Done."]);
    await using open = await openSession(
      {
        model,
        tools: { slow },
        timeout: { totalMs: none, stepMs: none, firstChunkMs: none, chunkMs: none, toolMs: none },
        timeLimits: { callMs: none },
      },
      { idleAfterMs: none },
    );
    const turn = await open.session.send("Go.");
    await entered;
    vi.advanceTimersByTime(1000 * day);
    leave.resolve("at last");
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Done." });
    expect(vi.getTimerCount()).toBe(0);
  });
});
