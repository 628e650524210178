/** Replays of what the recordings in `fixtures` have none of: limits of time, patience, deaths within a tool. */

import { APICallError, tool } from "ai";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { gate, scriptedModel, type ScriptedPart } from "../../src/models/index.ts";
import { replay } from "../../src/replay/replay.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { wrapLog } from "../../src/replay/replay-process.ts";
import { ask } from "../support/asking.ts";
import { sampled } from "../support/runs.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";

/** With the clock of the process stopped: who waits in real time waits forever. */
async function expectReplay(events: readonly SessionEvent[], agent: Agent): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval"] });
  try {
    const { difference } = await replay(events, agent);
    expect(difference && differenceText(difference)).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
}

it("several messages that a cancel takes back are taken back at once again", async () => {
  const pause = gate();
  const model = scriptedModel([saying("Well, ", pause), "Here I am."]);
  await using open = await openSession({ model });
  const { session } = open;
  await session.send("One.", { id: "m1" });
  await pause.reached;
  for (const id of ["m2", "m3"]) await session.send(id, { id });
  await session.cancel({ withdraw: true, reason: "enough" });
  await (
    await session.send("Are you there?", { id: "m4" })
  ).result;
  const events = await open.events();
  expect(events.find(({ type }) => type === "message.withdrawn")?.data).toMatchObject({
    ids: ["m2", "m3"],
  });
  await expectReplay(events, { model });
});

it("a model call that was late is late again", async () => {
  const agent: Agent = {
    model: scriptedModel([saying("Once ", gate())]),
    timeout: { chunkMs: 20 },
    maxRetries: 0,
  };
  await using open = await openSession(agent);
  const turn = await open.session.send("Tell me.");
  await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
  const events = await open.events();
  expect(events.at(-2)).toMatchObject({ type: "step.failed", data: { kind: "timeout" } });
  await expectReplay(events, agent);
});

it("an attempt that was late with a call of a tool, and the next one after its back-off, come again", async () => {
  const quick = tool({ inputSchema: z.object({}), execute: async () => "done" });
  const agent: Agent = {
    model: scriptedModel([calling(call("quick", "1"), call("quick", "2"), gate()), "Here I am."]),
    tools: { quick },
    timeLimits: { callMs: 20 },
  };
  await using open = await openSession(agent, { timer: impatientTimer });
  const turn = await open.session.send("Tell me.");
  await turn.result;
  const events = await open.events();
  expect(events.filter(({ type }) => type === "tool.skipped")).toHaveLength(2);
  expect(events.find(({ type }) => type === "step.retrying")?.data).toMatchObject({
    kind: "timeout",
  });
  await expectReplay(events, agent);
});

it("a tool that was late and did not listen is left behind again", async () => {
  const inputSchema = z.object({});
  const agent: Agent = {
    model: scriptedModel([calling(call("deaf", "1"), call("quick", "2")), "Never mind."]),
    tools: {
      deaf: tool({ inputSchema, execute: () => new Promise<string>(() => {}) }),
      quick: tool({ inputSchema, execute: async () => "done" }),
    },
    timeout: { tools: { deafMs: 5 } },
  };
  await using open = await openSession(agent);
  await (
    await open.session.send("Go.")
  ).result;
  const events = await open.events();
  expect(events.find(({ type }) => type === "tool.unknown")?.data).toMatchObject({
    reason: "timed-out",
  });
  await expectReplay(events, agent);
  const { timeout: _, ...unlimited } = agent;
  const { difference } = await replay(events, unlimited, { patienceMs: 100 });
  expect(difference).toMatchObject({ recorded: { type: "tool.unknown" }, replayed: undefined });
});

it("a provider that asked for more patience than there is asks for it again", async () => {
  const busy = new APICallError({
    message: "Come back tomorrow",
    statusCode: 429,
    responseHeaders: { "retry-after": "86400" },
    url: "https://provider.invalid",
    requestBodyValues: {},
  });
  const agent: Agent = { model: scriptedModel([{ failure: busy }]) };
  await using open = await openSession(agent);
  const turn = await open.session.send("Tell me.");
  await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
  const events = await open.events();
  expect(events.at(-2)).toMatchObject({ type: "step.failed", data: { kind: "rate-limit" } });
  await expectReplay(events, agent);
});

it.each([
  ["has its result then", ["tool.succeeded"]],
  ["is cancelled then", ["turn.cancel-requested", "tool.unknown"]],
])("an idempotent tool that a dead process had started is run again, and %s", async (_, ends) => {
  await using log = await openMemoryLog();
  const settle = (execute: () => Promise<string>): Agent => ({
    model: scriptedModel(["Settled."]),
    tools: { settle: tool({ inputSchema: z.object({}), execute }) },
    toolPolicies: { settle: { idempotent: true } },
  });
  const recorder = severableLog(log);
  const first = await createRuntime({
    log: recorder,
    agent: {
      ...settle(() => new Promise(() => {})),
      model: scriptedModel([calling(call("settle", "1"))]),
    },
  });
  const dying = await first.session("s");
  await dying.send("Settle it.");
  await seen(dying, "tool.started");
  recorder.sever();
  const isCancelled = ends.length > 1;
  const agent = settle(isCancelled ? () => new Promise(() => {}) : async () => "done");
  await using second = await createRuntime({ log, agent, recovery: "continue", graceMs: 1 });
  const session = await second.session("s");
  if (isCancelled) {
    await seen(session, "tool.started", ({ attempt }) => attempt === 2);
    await session.cancel();
  }
  await session.idle();
  const events = await Array.fromAsync(log.read("s"));
  const starts = events.filter(({ type }) => type === "tool.started");
  expect(starts.map(({ data }) => data)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(ends));
  await expectReplay(events, agent);
});

it("a turn that was cancelled before its model was asked takes no answer from the next one", async () => {
  const agent: Agent = { model: scriptedModel(["One.", "Two."]) };
  await using open = await openSession(agent);
  await open.session.send("One?");
  await open.session.cancel();
  await (
    await open.session.send("Two?")
  ).result;
  const events = await open.events();
  expect(events.filter(({ type }) => type === "step.started")).toHaveLength(2);
  expect(events.filter(({ type }) => type === "part.text-delta")).toHaveLength(1);
  await expectReplay(events, agent);
});

it("an attempt that called a tool, reported an error and went on is given up with its call again", async () => {
  const agent: Agent = {
    model: scriptedModel([
      calling(call("quick", "1"), { type: "error", error: { type: "overloaded_error" } }),
      "Here I am.",
    ]),
    tools: { quick: tool({ inputSchema: z.object({}), execute: async () => "done" }) },
  };
  await using open = await openSession(agent, { timer: impatientTimer });
  await (
    await open.session.send("Tell me.")
  ).result;
  const events = await open.events();
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["part.error", "tool.skipped", "step.retrying"]),
  );
  await expectReplay(events, agent);
});

it("a tool that gave up when its turn was cancelled does so again, and the next call of its id has its own answer", async () => {
  const running = Promise.withResolvers<void>();
  const quick = tool({ inputSchema: z.object({}), execute: async () => "done" });
  /** Gives up when it is told to, as what fetches with its signal does. */
  const patient = tool({
    inputSchema: z.object({}),
    execute: async (_, { abortSignal }): Promise<string> => {
      running.resolve();
      const stopped = Promise.withResolvers<string>();
      abortSignal?.addEventListener("abort", () => {
        stopped.reject(new Error("I was told to stop."));
      });
      return await stopped.promise;
    },
  });
  const agent: Agent = {
    model: scriptedModel([calling(call("patient", "1")), calling(call("quick", "1")), "Done."]),
    tools: { patient, quick },
  };
  await using open = await openSession(agent, { graceMs: 1000 });
  await open.session.send("Go.");
  await running.promise;
  await open.session.cancel();
  await ask(open.session, "Again?");
  const events = await open.events();
  expect(events.find(({ type }) => type === "tool.failed")?.data).toMatchObject({
    error: { message: "I was told to stop." },
  });
  await expectReplay(events, agent);
});

it("a call that was cancelled between its start and its run is not run again, and takes no answer from the next of its name", async () => {
  const quick = tool({ inputSchema: z.object({}), execute: async () => "done" });
  const agent: Agent = {
    model: scriptedModel([calling(call("quick", "1")), calling(call("quick", "1")), "Done."]),
    tools: { quick },
  };
  await using log = await openMemoryLog();
  const held = Promise.withResolvers<void>();
  // The log is slow to take the start of the call.
  const slow = wrapLog(log, {
    append: async (...append) => {
      const appended = await log.append(...append);
      if (append[2].some(({ type }) => type === "tool.started")) await held.promise;
      return appended;
    },
  });
  await using open = await openSession(agent, { log: slow });
  await open.session.send("Go.");
  await seen(open.session, "tool.started");
  const cancelled = open.session.cancel();
  await seen(open.session, "turn.cancel-requested");
  held.resolve();
  await cancelled;
  await (
    await open.session.send("Again?")
  ).result;
  const events = await open.events();
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["tool.failed", "tool.succeeded"]),
  );
  await expectReplay(events, agent);
});

it.each(["stop", "continue"] as const)(
  "processes that died one after the other, each behind what it wrote first, do so again (%s)",
  async (recovery) => {
    const answers = [calling(call("quick", "1"), call("quick", "2")), "Done."];
    const agentOf = (): Agent => ({
      model: scriptedModel((_, index) => answers[index % 2] ?? "More."),
      tools: { quick: tool({ inputSchema: z.object({}), execute: async () => "done" }) },
      toolPolicies: { quick: { idempotent: true } },
    });
    await using open = await openSession(agentOf(), { recovery });
    await ask(open.session, "One?");
    const died = async (name: string, left: readonly SessionEvent[]): Promise<SessionEvent[]> => {
      await open.log.append(name, "none", left);
      await using runtime = await createRuntime({ log: open.log, agent: agentOf(), recovery });
      const session = await runtime.session(name);
      await session.idle();
      await ask(session, "Two?");
      return await Array.fromAsync(open.log.read(name));
    };
    const whole = await open.events();
    for (const { position } of sampled(whole.slice(2), 2, recovery === "stop" ? 0 : 1)) {
      const once = await died(`once-${position}`, whole.slice(0, position));
      await expectReplay(once, agentOf());
      const recovered = once.findIndex(({ type }) => type === "session.recovered") + 1;
      if (recovered === 0) continue;
      const twice = await died(`twice-${position}`, once.slice(0, recovered));
      await expectReplay(twice, agentOf());
    }
  },
);

it("a cancel around the end of a model call comes before that end again", async () => {
  const orders = new Set<string>();
  for (let moments = 0; moments < 80; moments++) {
    const cancel: { now: () => Promise<unknown> } = { now: async () => {} };
    const arrive = async (): Promise<void> => {
      for (let moment = 0; moment < moments; moment++) await Promise.resolve();
      await cancel.now();
    };
    const end: ScriptedPart = {
      type: "gate",
      until: Promise.resolve(),
      arrive: () => void arrive(),
    };
    const agent: Agent = {
      model: scriptedModel([calling({ type: "text", deltas: ["Well."] }, end), "Here."]),
    };
    await using open = await openSession(agent);
    cancel.now = async () => await open.session.cancel();
    await ask(open.session, "One?");
    await ask(open.session, "Two?");
    const events = await open.events();
    const types = events.map(({ type }) => type);
    const at = types.indexOf("turn.cancel-requested");
    orders.add(at === -1 ? "none" : `${types[at]}, ${types[at + 1]}`);
    // Only the process knew that the model had ended when it was stopped.
    if (types[at + 1] !== "step.finished") await expectReplay(events, agent);
  }
  expect([...orders].toSorted()).toEqual([
    "none",
    "turn.cancel-requested, step.finished",
    "turn.cancel-requested, step.interrupted",
  ]);
});
