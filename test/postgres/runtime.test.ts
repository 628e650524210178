/** A runtime on PostgreSQL: a turn, its next process, and a second runtime that runs the same session. */

import { tool } from "ai";
import { z } from "zod";
import { afterAll, describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { createRuntime, giveStored } from "../../src/runtime/index.ts";
import { rewoundSchema } from "../../src/commands/index.ts";
import { memoryKeys } from "../../src/store/encryption/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import { nothing } from "../runtime/tools.ts";
import { call, saying } from "../support/script.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { runSql } from "../support/run-sql.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
afterAll(() => server[Symbol.asyncDispose]());

let schemas = 0;
const open = (schema: string): Promise<EventLog> =>
  openPostgresLog({
    connectionString: server.connectionString,
    connections: server.connections,
    schema,
  });
const says = (text: string): Agent => ({ model: scriptedModel([text, "Again."]) });

it("runs a turn, and the next process continues from the database", async () => {
  const schema = `r${schemas++}`;
  const first = await open(schema);
  {
    await using runtime = await createRuntime({ log: first, agent: says("Hello.") });
    const session = await runtime.session("team/1");
    const { text } = await (await session.send("Hi")).result;
    expect(text).toBe("Hello.");
  }
  await first.close();
  const second = await open(schema);
  {
    await using runtime = await createRuntime({ log: second, agent: says("And you?") });
    const session = await runtime.session("team/1");
    const { text } = await (await session.send("Go on")).result;
    expect(text).toBe("And you?");
    expect((await session.view()).prompt.messages).toHaveLength(4);
    expect((await verifySession(second, "team/1")).problems).toEqual([]);
  }
  await second.close();
});

it("sends the commands of an encrypted session to the process that runs it, and nobody reads them on the way", async () => {
  const schema = `r${schemas++}`;
  const [one, two] = [await open(schema), await open(schema)];
  const encryption = { keys: memoryKeys() };
  const first = await createRuntime({ log: one, agent: says("Hello."), encryption });
  const second = await createRuntime({ log: two, agent: says("Hello."), encryption });
  const posted: string[] = [];
  const post = two.inbox?.post.bind(two.inbox);
  if (two.inbox !== undefined)
    two.inbox.post = async (session, command) => {
      posted.push(JSON.stringify(command));
      await post?.(session, command);
    };
  const session = await first.session("s");
  await (
    await session.send("Hi")
  ).result;
  const events = await Array.fromAsync(one.read("s"));
  const position = events.find(({ type }) => type === "message.queued")?.position ?? 0;
  const there = await second.session("s");
  await there.setMetadata({ topic: "hidden" });
  expect((await there.view()).summary.metadata).toEqual({ topic: "hidden" });
  const erased = { session: "s", ranges: [{ from: position, to: position }] };
  // A redaction lets go of the session, and whoever is asked next runs it: the first process again.
  const runHere = () => session.setMetadata({ topic: "hidden" });
  expect(await second.redact("s", [position], { reason: "hidden too" })).toMatchObject(erased);
  await runHere();
  expect(await there.redact(position)).toMatchObject({ session: "s", ranges: [] });
  await runHere();
  expect(
    posted.map((command) => z.object({ name: z.string() }).parse(JSON.parse(command)).name),
  ).toEqual(["setMetadata", "redact", "redact"]);
  expect(posted.join()).not.toContain("hidden");
  // The other process has no key of it in memory either.
  const [item] = (await there.view()).history;
  expect(JSON.stringify(item)).not.toContain('"Hi"');
  const { text } = await (await there.send("Go on")).result;
  expect(text).toBe("Again.");
  for (const shares of [() => there.fork(), () => there.rerun()])
    await expect(shares()).rejects.toThrow(/given the session back: after `idleAfterMs` at rest/);
  await (await first.session("other")).setMetadata({ topic: "hidden" });
  expect(await second.delete("other")).toMatchObject({ session: "other", repeated: false });
  await first.close();
  const fork = await there.fork();
  expect(JSON.stringify((await fork.view()).history)).toContain("Again.");
  expect((await verifySession(second.log, "s")).problems).toEqual([]);
  await second.close();
  await Promise.all([one.close(), two.close()]);
});

it("keeps a limit over the sessions of a key for two processes together, up to one call of each", async () => {
  const schema = `r${schemas++}`;
  const [one, two] = [await open(schema), await open(schema)];
  const usage = {
    inputTokens: { total: 1000, noCache: 1000, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 100, text: 100, reasoning: 0 },
  };
  const model = scriptedModel(() => ({ ...saying("Done."), usage }));
  const limits = { perKey: { tenant: { tokens: 5500 } } };
  const spends = async (log: EventLog, name: string): Promise<void> => {
    await using runtime = await createRuntime({ log, agent: { model }, limits });
    for (let turn = 1; turn <= 6; turn++) {
      const session = await runtime.session(`${name}${turn}`, { metadata: { tenant: "t" } });
      const { finishReason } = await (await session.send("Go.")).result;
      if (finishReason === "out-of-budget") return;
    }
  };
  await Promise.all([spends(one, "a"), spends(two, "b")]);
  expect(model.calls.length).toBeGreaterThanOrEqual(5);
  expect(model.calls.length).toBeLessThanOrEqual(7);
  await using asks = await createRuntime({ log: two, agent: { model } });
  const [{ calls } = { calls: 0 }] = await asks.bill({ where: { tenant: "t" } });
  expect(calls).toBe(model.calls.length);
  await asks.delete("a1");
  await using again = await createRuntime({
    log: one,
    agent: { model },
    bill: { keys: ["other"] },
  });
  expect((await again.bill({ by: "tenant" }))[0]?.calls).toBe(calls);
  await Promise.all([one.close(), two.close()]);
});

it("changes a stored session whose process died, once its lease is over, and leaves no command", async () => {
  const schema = `r${schemas++}`;
  await using log = await open(schema);
  {
    await using runtime = await createRuntime({ log, agent: says("Hello.") });
    await (
      await (await runtime.session("s")).send("Hi")
    ).result;
  }
  await sql(`INSERT INTO ${schema}.nodes VALUES ('dead', clock_timestamp() + interval '1 second');
    UPDATE ${schema}.sessions SET owner = 'dead' WHERE id = 's'`);
  const rewound = rewoundSchema.parse(await giveStored(log, "s", "rewind", [{ beforeTurn: 1 }]));
  expect(await log.revision("s")).toBe(rewound.position);
  expect(await log.inbox?.unanswered("s")).toEqual([]);
});

const several = wanted && programs !== undefined;
const needs = several ? "" : " (needs `npm run test:postgres` and an installed server)";

describe.skipIf(!several)(`two runtimes on one database${needs}`, () => {
  it("run a session one at a time: the second does not delete it while the first has it, and then continues", async () => {
    const schema = `r${schemas++}`;
    const [one, two] = [await open(schema), await open(schema)];
    const waits = gate();
    const model = scriptedModel([{ parts: [{ type: "text", deltas: ["Hel", waits, "lo."] }] }]);
    const first = await createRuntime({ log: one, agent: { model } });
    const second = await createRuntime({ log: two, agent: says("And you?") });
    const turn = await (await first.session("s")).send("Hi");
    await waits.reached;
    // The first one refuses it, since a turn runs.
    await expect(second.delete("s")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    waits.open();
    expect((await turn.result).text).toBe("Hello.");
    await first.close();
    const { text } = await (await (await second.session("s")).send("Go on")).result;
    expect(text).toBe("And you?");
    expect((await verifySession(two, "s")).problems).toEqual([]);
    await second.close();
    await Promise.all([one.close(), two.close()]);
  });

  it("take over the turn of one that was silent for too long, whose late events and effects never come", async () => {
    const schema = `r${schemas++}`;
    const [one, two] = [await open(schema), await open(schema)];
    const waits = gate();
    const parts = [{ type: "text", deltas: ["Late", waits, "."] }, call("late", "c1")] as const;
    const ran: string[] = [];
    const late = tool({ inputSchema: nothing, execute: () => ran.push("late") });
    const model = scriptedModel([{ parts: [...parts] }]);
    const first = await createRuntime({ log: one, agent: { model, tools: { late } } });
    const agent = { ...says("Taken over."), tools: { late } };
    const second = await createRuntime({ log: two, agent, recovery: "continue" });
    const session = await first.session("s");
    const turn = await session.send("Hi");
    await waits.reached;
    await sql(`DELETE FROM ${schema}.nodes`);
    const taken = await second.session("s");
    waits.open();
    await taken.idle();
    // Who waits here follows the process that has the session now.
    expect((await turn.result).text).toContain("Taken over.");
    const { history } = await taken.view();
    expect(JSON.stringify(history)).toContain("Taken over.");
    expect(ran).toEqual([]);
    expect((await verifySession(two, "s")).problems).toEqual([]);
    await first.close();
    await second.close();
    await Promise.all([one.close(), two.close()]);
  });
});

async function sql(text: string): Promise<void> {
  await runSql(server.connectionString, text);
}
