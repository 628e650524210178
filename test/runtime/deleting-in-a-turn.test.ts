/** Sessions that are deleted with their turns: whatever a turn does or waits for, and wherever it runs. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { sharedLog } from "../crossings/shared-log.ts";
import { call, calling, saying } from "../support/script.ts";
import { eventually } from "../support/eventually.ts";
import { seen } from "../support/seen.ts";

const nothing = z.object({});

/** An agent, and the event after which its turn does what the row says. */
type Situation = readonly [what: string, agent: () => Agent, event: Parameters<typeof seen>[1]];

const asks = (): Agent => ({
  model: scriptedModel(() => calling(call("pay", "1"))),
  tools: { pay: tool({ inputSchema: nothing, execute: () => 1 }) },
  toolApproval: { pay: "user-approval" },
});
const delegates = (agent: Agent): Agent => ({
  model: scriptedModel(() => calling(call("help", "1", { task: "Help." }))),
  tools: { help: agentTool({ agent, description: "Helps." }) },
});
const situations: readonly Situation[] = [
  [
    "while its model answers",
    () => ({ model: scriptedModel([saying("One ", gate())]) }),
    "part.text-delta",
  ],
  [
    "while its tool runs",
    () => ({
      model: scriptedModel(() => calling(call("work", "1"))),
      tools: {
        work: tool({
          inputSchema: nothing,
          execute: async (_, { abortSignal }) =>
            await new Promise((_resolve, reject) => {
              abortSignal?.addEventListener("abort", () => reject(new Error("aborted")));
            }),
        }),
      },
    }),
    "tool.started",
  ],
  ["while it waits for an approval", asks, "tool.approval-requested"],
  [
    "while it waits for a client",
    () => ({
      model: scriptedModel(() => calling(call("locate", "1"))),
      tools: { locate: tool({ inputSchema: nothing, outputSchema: z.string() }) },
    }),
    "tool.output-requested",
  ],
  ["while its sub-agent waits for an approval", () => delegates(asks()), "tool.started"],
  [
    "while its sub-agent answers",
    () => delegates({ model: scriptedModel([saying("One ", gate())]) }),
    "tool.started",
  ],
];

async function working(runtime: Runtime, event: Situation[2]): Promise<Session> {
  const session = await runtime.session("s", { metadata: { tenant: "acme" } });
  (await session.send("Go.")).result.catch(() => {});
  await seen(session, event);
  (await session.send("And then?")).result.catch(() => {});
  return session;
}

async function sessionsIn(log: EventLog): Promise<readonly string[]> {
  return (await Array.fromAsync(log.list())).map(({ session }) => session);
}

describe.each(situations)("a session is deleted with `cancel` %s", (_what, agent, event) => {
  it("where its turn runs, and its last events say so to who follows", async () => {
    await using runtime = await createRuntime({ memory: true, agent: agent(), graceMs: 1 });
    const session = await working(runtime, event);
    const followed: string[] = [];
    const following = (async () => {
      for await (const { type, data } of session.events())
        followed.push(`${type}: ${"reason" in data ? JSON.stringify(data.reason) : ""}`);
    })();
    const told = following.catch((error: unknown) => error);
    await seen(session, "message.queued");
    await expect(runtime.delete("s")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    expect(await runtime.delete("s", { cancel: true })).toMatchObject({ repeated: false });
    expect(await told).toMatchObject({ code: "SESSION_DELETED" });
    expect(followed).toContain('turn.cancel-requested: "the session is deleted"');
    expect(followed).toContain('turn.ended: "cancelled"');
    expect(await sessionsIn(runtime.log)).toEqual([]);
  });

  it("from a process that does not run it", async () => {
    await using log = await openMemoryLog();
    const open = sharedLog(log);
    await using there = await createRuntime({ log: open(), agent: agent(), graceMs: 1 });
    await using here = await createRuntime({ log: open(), agent: agent(), graceMs: 1 });
    const session = await working(there, event);
    const { deleted, kept } = await here.deleteSessions({
      where: { tenant: "acme" },
      cancel: true,
    });
    expect([deleted[0]?.session, kept]).toEqual(["s", []]);
    expect(await sessionsIn(log)).toEqual([]);
    await expect(session.send("Go on.")).rejects.toMatchObject({ code: "SESSION_DELETED" });
    await expect(here.session("s")).rejects.toMatchObject({ code: "SESSION_DELETED" });
  });

  it("that nobody runs any more, without running it again", async () => {
    await using log = await openMemoryLog();
    {
      await using first = await createRuntime({
        log,
        agent: agent(),
        graceMs: 1,
        recovery: "continue",
      });
      await working(first, event);
    }
    const given = agent();
    await using runtime = await createRuntime({ log, agent: given, recovery: "continue" });
    expect(await runtime.delete("s", { cancel: true })).toMatchObject({ repeated: false });
    expect(given.model).toMatchObject({ calls: [] });
    expect(await sessionsIn(log)).toEqual([]);
  });
});

it("deletes a sub-agent whose session runs in another process than that of its caller", async () => {
  const done = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "tool" ? "Done." : calling(call("help", "1", { task: "Help." })),
  );
  const waits = gate();
  const helper = (): Agent => ({ model: scriptedModel(["Helped.", saying("Again ", waits)]) });
  const agent: Agent = {
    model: done,
    tools: { help: agentTool({ agent: helper(), description: "Helps." }) },
  };
  await using log = await openMemoryLog();
  const open = sharedLog(log);
  await using here = await createRuntime({ log: open(), agent, graceMs: 1, idleAfterMs: 1 });
  await using there = await createRuntime({ log: open(), agent, graceMs: 1 });
  const session = await here.session("s");
  await (
    await session.send("Go.")
  ).result;
  const [child = ""] = (await session.subAgents()).subAgents.map((one) => one.session);
  await eventually(async () => expect(await there.log.ownership?.taken?.()).toEqual(new Set()));
  const helping = await there.session(child);
  (await helping.send("Help me too.")).result.catch(() => {});
  await waits.reached;
  await expect(here.delete("s")).rejects.toMatchObject({ code: "COMMAND_REFUSED", session: child });
  expect(await here.delete("s", { cancel: true })).toMatchObject({ children: [child] });
  expect(await sessionsIn(log)).toEqual([]);
});

it("deletes a tenant's sessions whatever they do, and says which stay and why", async () => {
  await using runtime = await createRuntime({ memory: true, agent: asks(), graceMs: 1 });
  for (const [id, tenant] of [
    ["waits", "acme"],
    ["rests", "acme"],
    ["forked", "acme"],
    ["other", "bolt"],
  ] as const) {
    const session = await runtime.session(id, { metadata: { tenant } });
    if (id !== "rests") await session.send("Pay.");
    if (id === "waits") await session.send("Later.", { notBefore: new Date(2 ** 42) });
    await session.atRest();
  }
  const fork = await (await runtime.session("forked")).fork({ id: "fork" });
  await fork.setMetadata({ tenant: "bolt" });
  const query = { where: { tenant: "acme" }, cancel: true };
  const would = await runtime.deleteSessions({ ...query, dryRun: true });
  const done = await runtime.deleteSessions(query);
  expect(done).toEqual({ ...would, dryRun: false });
  expect(done.deleted.map(({ session }) => session)).toEqual(["rests", "waits"]);
  expect(done.kept).toMatchObject([
    { session: "forked", error: { code: "SESSION_HAS_FORKS", details: { forks: ["fork"] } } },
  ]);
  expect(await sessionsIn(runtime.log)).toEqual(["fork", "forked", "other"]);
});
