/** Sessions that are deleted while a runtime has them: idle ones go, working ones are refused. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { logProblems } from "../support/log-problems.ts";

it("deletes a session that is idle, and its handles and its name are of no use any more", async () => {
  await using log = await openMemoryLog();
  const model = scriptedModel(["One.", "Two."]);
  const warnings: unknown[] = [];
  await using runtime = await createRuntime({
    log,
    agent: { model },
    onWarning: (warning) => warnings.push(warning),
  });
  const session = await runtime.session("s");
  await (
    await session.send("Go.")
  ).result;
  const events = session.events()[Symbol.asyncIterator]();
  for (let position = await log.revision("s"); position > 0; position--) await events.next();
  const [told, deleted] = await Promise.all([
    events.next().catch((error: unknown) => error),
    runtime.delete("s"),
  ]);
  expect(told).toMatchObject({ code: "SESSION_DELETED" });
  expect(deleted).toMatchObject({ session: "s", repeated: false });
  const isGone = { code: "SESSION_DELETED" };
  await expect(session.send("Again.")).rejects.toMatchObject(isGone);
  await expect(session.view()).rejects.toMatchObject(isGone);
  await expect(runtime.session("s")).rejects.toMatchObject(isGone);
  expect(await Array.fromAsync(runtime.sessions())).toEqual([]);
  await (
    await (await runtime.session("other")).send("Go.")
  ).result;
  expect(await logProblems(log)).toEqual([]);
  expect(warnings).toEqual([]);
});

it.each<[string, { readonly agent?: string }, (log: EventLog) => Promise<Runtime>]>([
  [
    "named agents",
    { agent: "main" },
    async (log) =>
      await createRuntime({ log, agents: { main: { model: scriptedModel(() => "Yes.") } } }),
  ],
  [
    "a function that knows no agent for it",
    {},
    async (log) =>
      await createRuntime({
        log,
        agent: ({ metadata }) => {
          if (metadata["agent"] !== "main") throw new Error("Nobody answers here.");
          return { model: scriptedModel(() => "Yes.") };
        },
      }),
  ],
])("says that a session is deleted in a runtime with %s", async (_, named, open) => {
  await using log = await openMemoryLog();
  await using runtime = await open(log);
  const session = await runtime.session("s", { ...named, metadata: { agent: "main" } });
  await runtime.delete("s");
  await expect(runtime.session("s")).rejects.toMatchObject({ code: "SESSION_DELETED" });
  await expect(session.send("Again.")).rejects.toMatchObject({ code: "SESSION_DELETED" });
});

it("refuses to delete a session while it runs a turn, which continues", async () => {
  const hold = gate();
  const model = scriptedModel([saying("One ", hold)]);
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  const session = await runtime.session("s");
  const turn = await session.send("Go.");
  await hold.reached;
  await expect(runtime.delete("s")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
  hold.open();
  expect((await turn.result).finishReason).toBe("stop");
  await runtime.delete("s");
  await expect(runtime.delete("never")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});

it("refuses to delete a session whose turn waits for an approval, live or not, until it is cancelled", async () => {
  const log = await openMemoryLog();
  const asking = (): Agent => ({
    model: scriptedModel([calling(call("ask", "1"))]),
    // oxlint-disable-next-line typescript/no-deprecated
    tools: { ask: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "x" }) },
  });
  const refused = { code: "COMMAND_REFUSED" };
  await using first = await createRuntime({ log, agent: asking() });
  const session = await first.session("s");
  const turn = await session.send("Go.");
  turn.result.catch(() => {});
  await seen(session, "tool.approval-requested");
  await session.atRest();
  await expect(first.delete("s")).rejects.toMatchObject(refused);
  await first.close();
  await using second = await createRuntime({ log, agent: asking() });
  // It is live nowhere.
  await expect(second.delete("s")).rejects.toMatchObject(refused);
  expect(await log.revision("s")).toBeGreaterThan(0);
  await (await second.session("s")).cancel();
  expect(await second.delete("s")).toMatchObject({ session: "s", repeated: false });
});

it("deletes a session that a dead process left in the middle of a turn", async () => {
  await using log = await openMemoryLog();
  const hold = gate();
  await using runtime = await createRuntime({
    log,
    agent: { model: scriptedModel([saying("One ", hold)]) },
  });
  const session = await runtime.session("s");
  (await session.send("Go.")).result.catch(() => {});
  await hold.reached;
  const left = await Array.fromAsync(log.read("s"));
  hold.open();
  await session.idle();
  await log.append(
    "left",
    0,
    left.map(({ position: _, ...event }) => event),
  );
  expect(await runtime.delete("left")).toMatchObject({ session: "left", repeated: false });
});

it("lets a fork finish the turn that it is in when the session that it branches off is deleted", async () => {
  const hold = gate();
  const model = scriptedModel(["One.", saying("Two ", hold, "and on.")]);
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  const session = await runtime.session("s");
  await (
    await session.send("Go.")
  ).result;
  const fork = await session.fork({ id: "f" });
  const turn = await fork.send("And you?");
  await hold.reached;
  expect(await runtime.delete("s", { forks: "copy" })).toMatchObject({ forks: ["f"] });
  hold.open();
  expect(await turn.result).toMatchObject({ text: "Two and on.", finishReason: "stop" });
  expect(JSON.stringify((await fork.view()).prompt.messages)).toMatch(
    /Go\..*One\..*And you.*Two and on\./,
  );
  expect(await logProblems(runtime.log)).toEqual([]);
});

it("keeps forks when the session that they branch off is deleted", async () => {
  const model = scriptedModel(["One.", "Two.", "Three."]);
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  const session = await runtime.session("s");
  await (
    await session.send("Go.")
  ).result;
  const fork = await session.fork({ id: "f" });
  await expect(runtime.delete("s")).rejects.toMatchObject({
    code: "SESSION_HAS_FORKS",
    details: { forks: ["f"] },
  });
  await (
    await session.send("And on.")
  ).result;
  const before = await fork.view();
  expect(await runtime.delete("s", { forks: "copy" })).toMatchObject({ forks: ["f"] });
  expect(await fork.view()).toEqual(before);
  expect(await (await fork.send("And you?")).result).toMatchObject({ text: "Three." });
  expect(await logProblems(runtime.log)).toEqual([]);
});
