/**
 * A runtime that is closed loses no more than one that is killed: each work of a session or of its sub-agents is ended
 * at the same moment in both ways, and the next process makes the same log of both.
 */

import { setImmediate } from "node:timers/promises";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  summarize,
  TurnlogError,
  type Agent,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import type { EventType } from "../../src/events/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling, saying } from "../support/script.ts";
import { severableLog, type SeverableLog } from "../support/severed-log.ts";
import { logProblems } from "../support/log-problems.ts";

/** What the tools did in the world. */
type Acts = string[];

interface Work {
  /** The process is ended once the session that works has this event in its log. */
  readonly until: EventType;
  /** @param isFirst - Of the process that is ended: its model or tool does not come to an end */
  readonly agent: (acts: Acts, isFirst: boolean) => Agent;
}

const never = (): Promise<never> => new Promise<never>(() => {});

/** An agent that makes one call, and then says that it is done. */
function callsOnce(step: ScriptedStep, agent: Omit<Agent, "model">): Agent {
  const model = scriptedModel(({ prompt }) => (prompt.at(-1)?.role === "tool" ? "Done." : step));
  return { ...agent, model };
}

function paying(acts: Acts, isDeaf: boolean): NonNullable<Agent["tools"]>[string] {
  return tool({
    inputSchema: z.object({}),
    execute: () => {
      acts.push("paid");
      return isDeaf ? never() : "ok";
    },
  });
}

const works: Readonly<Record<string, Work>> = {
  "a model that streams": {
    until: "part.text-delta",
    agent: (_, isFirst) => ({
      model: scriptedModel(() => (isFirst ? saying("Half", gate()) : "Whole.")),
    }),
  },
  "a call that waits for its next attempt": {
    until: "step.retrying",
    agent: (_, isFirst) => {
      const responseHeaders = { "retry-after-ms": "30000" };
      const busy = Object.assign(new Error("Overloaded."), { status: 529, responseHeaders });
      return { model: scriptedModel(() => (isFirst ? { failure: busy } : "Whole.")) };
    },
  },
  "a tool that runs": {
    until: "tool.started",
    agent: (acts, isFirst) =>
      callsOnce(calling(call("pay", "1")), { tools: { pay: paying(acts, isFirst) } }),
  },
  "a tool that runs and may run again": {
    until: "tool.started",
    agent: (acts, isFirst) =>
      callsOnce(calling(call("pay", "1")), {
        tools: { pay: paying(acts, isFirst) },
        toolPolicies: { pay: { idempotent: true } },
      }),
  },
  "a call that waits for an approval": {
    until: "tool.approval-requested",
    agent: (acts) =>
      callsOnce(calling(call("pay", "1")), {
        tools: { pay: paying(acts, false) },
        toolApproval: { pay: "user-approval" },
      }),
  },
  "a call that waits for a client": {
    until: "tool.output-requested",
    agent: () =>
      callsOnce(calling(call("look", "1")), {
        tools: { look: tool({ inputSchema: z.object({}) }) },
      }),
  },
};

/** The agent, called by one agent, or by an agent that another one calls. */
function below(depth: number, agent: Agent): Agent {
  if (depth === 0) return agent;
  const caller = callsOnce(calling(call("ask", `c${depth}`, { task: "Do it." })), {
    tools: { ask: agentTool({ agent, description: "Does it." }) },
  });
  return below(depth - 1, caller);
}

async function began(log: EventLog, depth: number, type: EventType): Promise<void> {
  for await (const { session, event } of log.subscribeAll({ from: 1 }))
    if (session.split("/").length === depth + 1 && event.type === type) return;
}

type End = (runtime: Runtime, log: SeverableLog) => Promise<void>;

const ends: Readonly<Record<"close" | "kill", End>> = {
  close: async (runtime) => {
    await runtime.close();
  },
  kill: async (runtime, log) => {
    log.sever();
    // It never ends, and writes nothing; without it, timers of this process would go on.
    runtime.close().catch(() => {});
  },
};

/** Answers everything that is asked, until no session has anything to do. */
async function answerAll(runtime: Runtime): Promise<void> {
  await eventually(async () => {
    for (const question of await runtime.approvals()) {
      const session = await runtime.session(question.session);
      if (question.kind === "approval") await session.approve(question.approval.approvalId);
      if (question.kind === "output")
        await session.answerCall(question.request.requestId, { output: "seen" });
    }
    for await (const { status } of runtime.sessions()) expect(status).toBe("idle");
  });
}

/** What the log says, without times, ids of calls and partial figures. */
async function meaningOf(log: EventLog): Promise<Readonly<Record<string, readonly string[]>>> {
  const meaning: Record<string, readonly string[]> = {};
  for await (const { session } of log.list()) {
    const events = await Array.fromAsync(log.read(session));
    meaning[session] = events.map(({ type, data }) =>
      type === "turn.ended" ? `${type} ${data.reason}` : type,
    );
  }
  return meaning;
}

/** A log that takes so many turns of the event loop for each append. */
function slowLog(log: EventLog, turns: number): EventLog {
  return wrapLog(log, {
    append: async (...append) => {
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      return await log.append(...append);
    },
  });
}

type Recovery = "continue" | "stop";

interface Ended {
  readonly log: EventLog;
  readonly acts: Acts;
  /** Opens the next process. */
  readonly next: () => Promise<Runtime>;
}

/** A process that works in a session, or in its sub-agents, and is ended in the midst of it. */
async function ended(work: Work, depth: number, end: End, recovery: Recovery): Promise<Ended> {
  const log = await openMemoryLog();
  const acts: Acts = [];
  const severable = severableLog(log);
  const first = await createRuntime({
    log: severable,
    agent: below(depth, work.agent(acts, true)),
    recovery,
    graceMs: 1,
  });
  await (await first.session("p")).send("Go", { id: "m" });
  await began(log, depth, work.until);
  const isActing = work.until === "tool.started";
  await eventually(() => expect(acts).toHaveLength(isActing ? 1 : 0));
  await end(first, severable);
  const next = (): Promise<Runtime> =>
    createRuntime({ log, agent: below(depth, work.agent(acts, false)), recovery, resume: "all" });
  return { log, acts, next };
}

const depths = [0, 1, 2] as const;
const crossings = depths.flatMap((depth) =>
  Object.keys(works).map((name) => ({ name, depth, work: works[name] as Work })),
);

describe("a process that ends in the midst of its work, and continues", () => {
  it.each(crossings)("is closed as it is killed: $name, $depth calls deep", async (crossing) => {
    const { work, depth } = crossing;
    const seen = [];
    for (const end of [ends.close, ends.kill]) {
      const { log, acts, next } = await ended(work, depth, end, "continue");
      await using runtime = await next();
      await answerAll(runtime);
      const turn = await (await runtime.session("p")).turn("m");
      expect((await turn.result).finishReason).toBe("stop");
      expect(await logProblems(log)).toEqual([]);
      seen.push({ acts, meaning: await meaningOf(log) });
    }
    expect(seen[0]).toEqual(seen[1]);
  });

  it.each(depths)("is closed as it is killed while it recovers, %i calls deep", async (depth) => {
    const work = works["a call that waits for an approval"] as Work;
    const seen = [];
    for (const end of [ends.close, ends.kill]) {
      const { log, acts, next } = await ended(work, depth, ends.kill, "continue");
      const severable = severableLog(log);
      const agent = below(depth, work.agent(acts, false));
      const second = await createRuntime({ log: severable, agent, recovery: "continue" });
      await second.session("p");
      await end(second, severable);
      await using runtime = await next();
      await answerAll(runtime);
      expect(acts).toEqual(["paid"]);
      seen.push(await meaningOf(log).then(({ p }) => p?.at(-1)));
    }
    expect(seen).toEqual(["turn.ended stop", "turn.ended stop"]);
  });

  it("keeps a compaction's session, its queue and its messages for later as a kill does", async () => {
    const seen = [];
    for (const end of [ends.close, ends.kill]) {
      const log = await openMemoryLog();
      const severable = severableLog(log);
      const agent = { model: scriptedModel(() => "A long answer. ".repeat(200)) };
      const first = await createRuntime({ log: severable, agent, recovery: "continue" });
      const session = await first.session("p");
      for (const text of ["One", "Two", "Three"]) await (await session.send(text)).result;
      const hold = gate();
      const model = scriptedModel(() => saying("The summary", hold));
      session.compact(summarize({ model, keepTokens: 10 })).catch(() => {});
      await hold.reached;
      await session.send("Four", { id: "m4" });
      await session.send("Later", { id: "later", notBefore: new Date(Date.now() + 86_400_000) });
      await end(first, severable);
      await using runtime = await createRuntime({ log, agent, recovery: "continue" });
      const again = await runtime.session("p");
      expect((await (await again.turn("m4")).result).finishReason).toBe("stop");
      expect((await again.view()).queue).toMatchObject([{ id: "later" }]);
      expect(await logProblems(log)).toEqual([]);
      seen.push(await meaningOf(log));
    }
    expect(seen[0]).toEqual(seen[1]);
  });
});

it("a sub-agent is joined again, and not cancelled, when the log refuses an event of its caller", async () => {
  const memory = await openMemoryLog();
  let isFull = false;
  const log = wrapLog(memory, {
    append: async (session, ...rest) => {
      if (isFull && session === "p") throw new TurnlogError("LOG_FULL", "The disk is full.");
      return await memory.append(session, ...rest);
    },
  });
  const acts: Acts = [];
  const work = works["a call that waits for an approval"] as Work;
  const agent = below(1, work.agent(acts, false));
  await using runtime = await createRuntime({ log, agent, recovery: "continue", graceMs: 1 });
  const session = await runtime.session("p");
  await session.send("Go", { id: "m" });
  await began(memory, 1, work.until);
  isFull = true;
  await expect(session.send("More")).rejects.toMatchObject({ code: "SESSION_FAILED" });
  isFull = false;
  const turn = await (await runtime.session("p")).turn("m");
  await answerAll(runtime);
  expect((await turn.result).finishReason).toBe("stop");
  expect(acts).toEqual(["paid"]);
  expect(Object.values(await meaningOf(memory)).flat()).not.toContain("turn.cancel-requested");
  expect(await logProblems(memory)).toEqual([]);
});

it("tells those who wait for a turn that the runtime was closed", async () => {
  const hold = gate();
  const agent = { model: scriptedModel(() => saying("Half", hold)) };
  const runtime = await createRuntime({ memory: true, agent, recovery: "continue" });
  const session = await runtime.session("p");
  const turn = await session.send("Go");
  const events = Array.fromAsync(turn);
  await hold.reached;
  await runtime.close();
  await expect(turn.result).rejects.toMatchObject({ code: "RUNTIME_CLOSED", session: "p" });
  await expect(events).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
});

describe("a process that ends in the midst of its work, and stops", () => {
  const asking = ["a call that waits for an approval", "a call that waits for a client"];
  const cells = (["close", "kill"] as const).flatMap((way) =>
    [1, 2].flatMap((depth) => asking.map((name) => ({ way, depth, name }))),
  );

  it.each(cells)(
    "by a $way leaves nobody asked for a turn that is over: $name, $depth calls deep",
    async ({ way, depth, name }) => {
      const { log, acts, next } = await ended(works[name] as Work, depth, ends[way], "stop");
      await using runtime = await next();
      await runtime.session("p");
      await eventually(async () => expect(await runtime.approvals()).toEqual([]));
      const over: unknown = expect.stringMatching(/^turn\.ended (cancelled|interrupted)$/);
      const lastOfAll = async (): Promise<readonly unknown[]> =>
        Object.values(await meaningOf(log)).map((events) => events.at(-1));
      await expect.poll(lastOfAll).toEqual(Array.from({ length: depth + 1 }, () => over));
      expect(acts).toEqual([]);
      expect(await logProblems(log)).toEqual([]);
    },
  );

  const writes = [
    { how: "at once", turns: 0 },
    { how: "slowly", turns: 50 },
  ].flatMap((write) => [1, 2].map((depth) => ({ ...write, depth })));

  it.each(writes)(
    "by a kill has a late yes refused, though nobody has opened the caller: $depth calls deep, written $how",
    async ({ depth, turns }) => {
      const work = works["a call that waits for an approval"] as Work;
      const { log, acts } = await ended(work, depth, ends.kill, "stop");
      const agent = below(depth, work.agent(acts, false));
      await using runtime = await createRuntime({ log: slowLog(log, turns), agent });
      const [question] = await runtime.approvals();
      if (question?.kind !== "approval") throw new Error("Nobody was asked.");
      const child = await runtime.session(question.session);
      const { approvalId } = question.approval;
      await expect(child.approve(approvalId)).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
      expect((await child.view()).summary).toMatchObject({ status: "idle", lastEnd: "cancelled" });
      expect(acts).toEqual([]);
    },
  );
});
