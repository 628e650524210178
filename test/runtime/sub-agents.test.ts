/** What a tool of `agentTool` promises: a session for each call, linked, created once, cancelled with the call. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
  type Session,
} from "../../src/public/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { logProblems } from "../support/log-problems.ts";

const description = "Finds facts.";
const task = (text: string): object => ({ task: text });

async function childrenOf(session: Session): Promise<readonly string[]> {
  return (await session.view()).toolCalls.flatMap(({ child }) => child ?? []);
}

it("runs a call in a session of its own, which both logs name, and answers its last text", async () => {
  const log = await openMemoryLog();
  const research: Agent = {
    model: scriptedModel([calling(call("look", "l")), "42."]),
    tools: { look: tool({ inputSchema: z.object({}), execute: () => "a page" }) },
  };
  const model = scriptedModel([calling(call("research", "c", task("Why?"))), "It is 42."]);
  await using runtime = await createRuntime({
    log,
    agent: { model, tools: { research: agentTool({ agent: research, description }) } },
  });
  const session = await runtime.session("p", { metadata: { userId: "u-1" } });
  expect(await (await session.send("Go")).result).toMatchObject({ text: "It is 42." });
  const [child = ""] = await childrenOf(session);
  expect(child).toMatch(/^p\/research-1-[0-9a-f]{8}$/);
  const { summary, history } = await (await runtime.session(child)).view();
  expect(summary).toMatchObject({
    parent: { session: "p", step: 1, callId: "c", toolName: "research", depth: 1 },
    metadata: { userId: "u-1" },
    title: "Why?",
    turns: 1,
  });
  expect(history).toHaveLength(4);
  // The parent has the result and nothing of the way to it.
  const events = await Array.fromAsync(log.read("p"));
  expect(events.flatMap(({ type }) => (type.startsWith("tool.") ? [type] : []))).toEqual([
    "tool.started",
    "tool.succeeded",
  ]);
  const told = model.calls[1]?.prompt.at(-1);
  expect(told).toMatchObject({ content: [{ output: { type: "text", value: "42." } }] });
  expect(await logProblems(log)).toEqual([]);
});

it("leaves a fork of its session with its agent, and without its call", async () => {
  const log = await openMemoryLog();
  const research = scriptedModel(() => "42.");
  const agent: Agent = {
    model: scriptedModel([calling(call("research", "c", task("Why?"))), "It is 42."]),
    tools: { research: agentTool({ agent: { model: research }, description, maxDepth: 1 }) },
  };
  let fork = "";
  let child = "";
  {
    await using runtime = await createRuntime({ log, agent });
    const session = await runtime.session("p");
    await (
      await session.send("Go")
    ).result;
    [child = ""] = await childrenOf(session);
    fork = (await (await runtime.session(child)).fork()).id;
  }
  await using next = await createRuntime({ log, agent });
  const session = await next.session(fork);
  expect(await (await session.send("And why?")).result).toMatchObject({ text: "42." });
  expect(research.calls).toHaveLength(2);
  const { summary } = await session.view();
  expect(summary.parent).toBeUndefined();
  expect(summary).toMatchObject({ forkedFrom: { session: child }, agentFrom: { session: "p" } });
  const events = await Array.fromAsync(log.read(fork));
  expect(events.map(({ type }) => type)).not.toContain("session.configured");
  const parent = await next.session("p");
  expect((await parent.subAgents()).subAgents.map(({ session: id }) => id)).toEqual([child]);
  // The parent's deletion takes its sub-agents, and not what others forked from them.
  await next.delete("p", { forks: "copy" });
  expect(await Array.fromAsync(log.list())).toMatchObject([{ session: fork }]);
  expect(await logProblems(log)).toEqual([]);
});

it("runs as many side by side as the limit on tools allows", async () => {
  let running = 0;
  let most = 0;
  const agent: Agent = {
    model: scriptedModel(async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running -= 1;
      return "done";
    }),
  };
  const calls = ["a", "b", "c", "d"].map((id) => call("work", id, task(id)));
  await using runtime = await createRuntime({
    memory: true,
    agent: {
      model: scriptedModel([calling(...calls), "Done."]),
      tools: { work: agentTool({ agent, description }) },
      toolCallConcurrency: 2,
    },
  });
  const session = await runtime.session("p");
  await (
    await session.send("Go")
  ).result;
  expect(new Set(await childrenOf(session)).size).toBe(4);
  expect(most).toBe(2);
});

it("cancels the session with the call, and tells the model what it had said", async () => {
  const log = await openMemoryLog();
  const stop = gate();
  const slow = scriptedModel([saying("Half", stop, " more.")]);
  await using runtime = await createRuntime({
    log,
    agent: {
      model: scriptedModel([calling(call("work", "c", task("x"))), "Never."]),
      tools: { work: agentTool({ agent: { model: slow }, description }) },
    },
  });
  const session = await runtime.session("p");
  await session.send("Go");
  await stop.reached;
  await session.cancel();
  const [child = ""] = await childrenOf(session);
  expect((await (await runtime.session(child)).view()).summary.lastEnd).toBe("cancelled");
  const [toolCall] = (await session.view()).toolCalls;
  expect(toolCall).toMatchObject({ status: "failed" });
  expect(toolCall?.reason).toContain("It had said: Half");
});

it("cancels the session when the time of the call is up", async () => {
  const never = scriptedModel([saying("a", gate())]);
  await using runtime = await createRuntime({
    memory: true,
    agent: {
      model: scriptedModel([calling(call("work", "c", task("x"))), "Late."]),
      tools: { work: agentTool({ agent: { model: never }, description }) },
      timeout: { toolMs: 50 },
    },
  });
  const session = await runtime.session("p");
  expect(await (await session.send("Go")).result).toMatchObject({ text: "Late." });
  const [child = ""] = await childrenOf(session);
  expect((await (await runtime.session(child)).view()).summary.lastEnd).toBe("cancelled");
});

it("bounds how deep agents call agents, by name or within each other", async () => {
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1);
    return last?.role === "user" ? calling(call("again", "c", task("deeper"))) : "Enough.";
  });
  await using runtime = await createRuntime({
    memory: true,
    agents: {
      worker: { model, tools: { again: agentTool({ agent: "worker", description, maxDepth: 2 }) } },
    },
  });
  const session = await runtime.session("p", { agent: "worker" });
  expect(await (await session.send("Go")).result).toMatchObject({ text: "Enough." });
  const [one = ""] = await childrenOf(session);
  const [two = ""] = await childrenOf(await runtime.session(one));
  const deepest = await (await runtime.session(two)).view();
  expect(deepest.summary.parent?.depth).toBe(2);
  expect(deepest.toolCalls).toMatchObject([{ status: "failed" }]);
  expect(deepest.toolCalls[0]?.reason).toContain("maxDepth");
  expect(await Array.fromAsync(runtime.sessions())).toHaveLength(3);
});

it("counts of each session what it used itself, and what all below it used", async () => {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "user" ? calling(call("below", "c", task("deeper"))) : "Done.",
  );
  const leaf: Agent = { model: scriptedModel(() => "Leaf.") };
  const middle: Agent = { model, tools: { below: agentTool({ agent: leaf, description }) } };
  const agent: Agent = { model, tools: { below: agentTool({ agent: middle, description }) } };
  await using runtime = await createRuntime({ memory: true, agent });
  const session = await runtime.session("p");
  await (
    await session.send("Go")
  ).result;
  const { own, total, subAgents } = await session.subAgents();
  const [child] = subAgents;
  const [grandchild] = child?.subAgents ?? [];
  const sums = [grandchild, child, { own, total }].map((one) => [
    one?.own.outputTokens ?? 0,
    one?.total.outputTokens ?? 0,
  ]);
  const [[leafs = 0] = [], [middles = 0] = [], [mine = 0] = []] = sums;
  expect(Math.min(leafs, middles, mine)).toBeGreaterThan(0);
  expect(sums).toEqual([
    [leafs, leafs],
    [middles, middles + leafs],
    [mine, mine + middles + leafs],
  ]);
});

it("fails a call whose session would have too long an id, and no reader of the parent", async () => {
  const model = scriptedModel([calling(call("work", "c", task("x"))), "Alone."]);
  const tools = { work: agentTool({ agent: { model: scriptedModel(["x"]) }, description }) };
  await using runtime = await createRuntime({ memory: true, agent: { model, tools } });
  const session = await runtime.session("p".repeat(500));
  expect(await (await session.send("Go")).result).toMatchObject({ text: "Alone." });
  const { toolCalls } = await session.view();
  expect(toolCalls).toMatchObject([{ status: "failed", attempts: 0 }]);
  expect(toolCalls[0]?.reason).toContain("too long");
  expect((await session.subAgents()).subAgents).toEqual([]);
  expect(await logProblems(runtime.log)).toEqual([]);
});

it("waits for an approval in the session of the sub-agent, and continues", async () => {
  const payer: Agent = {
    model: scriptedModel([calling(call("pay", "1")), "Paid."]),
    tools: { pay: tool({ inputSchema: z.object({}), execute: () => "ok" }) },
    toolApproval: { pay: "user-approval" },
  };
  await using runtime = await createRuntime({
    memory: true,
    agent: {
      model: scriptedModel([calling(call("buy", "c", task("x"))), "Bought."]),
      tools: { buy: agentTool({ agent: payer, description }) },
    },
  });
  const session = await runtime.session("p");
  const turn = await session.send("Go");
  for await (const { type } of turn) if (type === "tool.started") break;
  const [id = ""] = await childrenOf(session);
  for await (const { type } of session.events({ subAgent: id }))
    if (type === "tool.approval-requested") break;
  const child = await runtime.session(id);
  const { approvals } = await child.view();
  expect((await session.view()).summary.status).toBe("running");
  await child.approve(approvals[0]?.approvalId ?? "");
  expect(await turn.result).toMatchObject({ text: "Bought." });
});

it("is resumed and not begun again by the next process, with its own agent", async () => {
  const log = await openMemoryLog();
  const severed = severableLog(log);
  const stop = gate();
  const tasks: string[] = [];
  const agentOf = (gated: boolean): Agent => ({
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "user" ? calling(call("work", "c", task("the task"))) : "Finished.",
    ),
    tools: {
      work: agentTool({
        description,
        agent: {
          model: scriptedModel(({ prompt }) => {
            tasks.push(JSON.stringify(prompt.filter(({ role }) => role === "user")));
            return gated ? saying("Half", stop) : "Whole.";
          }),
        },
      }),
    },
  });
  const first = await createRuntime({ log: severed, agent: agentOf(true) });
  await (await first.session("p")).send("Go", { id: "m" });
  await stop.reached;
  severed.sever();
  await using second = await createRuntime({ log, agent: agentOf(false), recovery: "continue" });
  const session = await second.session("p");
  expect(await (await session.turn("m")).result).toMatchObject({ text: "Finished." });
  expect(await childrenOf(session)).toHaveLength(1);
  expect(await Array.fromAsync(second.sessions())).toHaveLength(2);
  const [child = ""] = await childrenOf(session);
  const view = await (await second.session(child)).view();
  expect(view.summary).toMatchObject({ messages: 1, turns: 1, lastEnd: "stop" });
  expect(tasks).toHaveLength(2);
  expect(await logProblems(log)).toEqual([]);
});

it("refuses a session of that id that another created, and an agent that the runtime does not have", async () => {
  const model = scriptedModel([calling(call("work", "c", task("x"))), "Failed."]);
  const tools = { work: agentTool({ agent: { model: scriptedModel(["x"]) }, description }) };
  const log = await openMemoryLog();
  const { hash } = await import("node:crypto");
  const taken = `p/work-1-${hash("sha256", "p/1/c").slice(0, 8)}`;
  await using runtime = await createRuntime({ log, agent: { model, tools } });
  await runtime.session(taken);
  const session = await runtime.session("p");
  await (
    await session.send("Go")
  ).result;
  const [failed] = (await session.view()).toolCalls;
  expect(failed).toMatchObject({ status: "failed", child: taken });
  expect(failed?.reason).toContain("did not create it");
  const lost = { tools: { work: agentTool({ agent: "worker", description }) }, model };
  await expect(createRuntime({ memory: true, agents: { boss: lost } })).rejects.toMatchObject({
    code: "INVALID_INPUT",
  });
  expect(() => agentTool({ agent: "", description })).toThrow("options.agent");
});

describe("an answer to a sub-agent", () => {
  /** A sub-agent that asks before it pays; its caller stops in the middle of a word. */
  function payingAgents(stop: ReturnType<typeof gate>): Readonly<Record<string, Agent>> {
    const caller = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "user"
        ? calling(call("buy", "c", task("x")))
        : saying("Bought", stop),
    );
    const payer = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "user" ? calling(call("pay", "1")) : "Paid.",
    );
    const pay = tool({ inputSchema: z.object({}), execute: () => "ok" });
    return {
      clerk: { model: caller, tools: { buy: agentTool({ agent: "payer", description }) } },
      payer: { model: payer, tools: { pay }, toolApproval: { pay: "user-approval" } },
    };
  }

  async function approve(child: Session): Promise<void> {
    const asked = (await child.atRest()).approvals.find(({ status }) => status === "waiting");
    await child.approve(asked?.approvalId ?? "");
  }

  async function began(
    log: EventLog,
    stop: ReturnType<typeof gate>,
  ): Promise<readonly [Runtime, Session]> {
    const runtime = await createRuntime({ log, agents: payingAgents(stop) });
    const session = await runtime.session("p", { agent: "clerk" });
    await session.send("Go");
    await seen(session, "tool.started");
    const [id = ""] = await childrenOf(session);
    for await (const { type } of session.events({ subAgent: id }))
      if (type === "tool.approval-requested") break;
    return [runtime, await runtime.session(id)];
  }

  it("in a later turn than its task leaves alone the caller, whose process died", async () => {
    const log = await openMemoryLog();
    const severed = severableLog(log);
    const stop = gate();
    const [, child] = await began(severed, stop);
    await approve(child);
    await stop.reached;
    await child.send("Once more.");
    await child.atRest();
    const before = await log.revision("p");
    severed.sever();
    await using next = await createRuntime({ log, agents: payingAgents(gate()) });
    const again = await next.session(child.id);
    await approve(again);
    await again.idle();
    expect((await again.view()).summary.lastEnd).toBe("stop");
    expect(await log.revision("p")).toBe(before);
  });

  it("whose caller was deleted is taken as in a session without one", async () => {
    const log = await openMemoryLog();
    const severed = severableLog(log);
    const [, child] = await began(severed, gate());
    severed.sever();
    await log.delete("p");
    await using next = await createRuntime({ log, agents: payingAgents(gate()) });
    const again = await next.session(child.id);
    await approve(again);
    await again.idle();
    expect((await again.view()).summary.lastEnd).toBe("stop");
  });
});
