/** Who pays: sums over all sessions, which are those of the log, whoever asks and whatever was deleted. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  agentTool,
  createRuntime,
  memoryKeys,
  openMemoryLog,
  sessionCost,
  TurnlogError,
  type Agent,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { copyLog } from "../../src/archive/exchange/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { runs } from "../support/runs.ts";
import { call, calling, saying } from "../support/script.ts";

const DAY = 86_400_000;
const prices = { input: 10, output: 50, cacheRead: 1 };
const known = { overrides: { scripted: { prices } } };

/** 1,000 tokens of prompt, of which 400 come from the cache, and 100 of reply. */
const usage = {
  inputTokens: { total: 1000, noCache: 600, cacheRead: 400, cacheWrite: 0 },
  outputTokens: { total: 100, text: 100, reasoning: 0 },
};
const DOLLARS = (600 * 10 + 400 * 1 + 100 * 50) / 1e6;

const context = { limits: { scripted: { prices } } };

function agent(): Agent {
  return { model: scriptedModel(() => ({ ...saying("Done."), usage })), context };
}

async function open(log: EventLog, now = { time: 0 }): Promise<Runtime> {
  const keys = ["userId"];
  return await createRuntime({
    log,
    agent: agent(),
    bill: { keys },
    testing: { clock: () => now.time },
  });
}

async function run(runtime: Runtime, id: string, metadata = {}, by?: string): Promise<void> {
  const session = await runtime.session(id, { metadata });
  await (
    await session.send("Go.", by === undefined ? {} : { by })
  ).result;
}

/** Makes the events of a session unreadable in the order of all. */
function damage(log: EventLog, session: string): void {
  const readAll = log.readAll.bind(log);
  Object.assign(log, {
    async *readAll(options: Parameters<EventLog["readAll"]>[0]) {
      for await (const entry of readAll(options)) {
        if (entry.session === session)
          throw new TurnlogError("LOG_DAMAGED", "The event is missing.", { session });
        yield entry;
      }
    },
  });
}

function shown(rows: Awaited<ReturnType<Runtime["bill"]>>, name: string) {
  return rows.map(({ of, calls }) => [of[name], calls]);
}

describe("the bill of a runtime", () => {
  it("sums calls by any values, the dearest first", async () => {
    const now = { time: DAY * 20_000 };
    await using runtime = await open(await openMemoryLog(), now);
    await run(runtime, "a", { tenant: "t", userId: 1 }, "ann");
    await run(runtime, "a", { tenant: "t", userId: 1 }, "bob");
    now.time += DAY;
    await run(runtime, "b", { tenant: "t", userId: 2 });
    const sums = { inputTokens: 3000, outputTokens: 300, cacheReadTokens: 1200 };
    const [all] = await runtime.bill();
    expect(all).toMatchObject({ of: {}, calls: 3, ...sums, cacheWriteTokens: 0, unpriced: 0 });
    expect(all?.dollars).toBeCloseTo(3 * DOLLARS);
    expect(shown(await runtime.bill({ by: "tenant" }), "tenant")).toEqual([["t", 3]]);
    expect(shown(await runtime.bill({ by: ["userId"] }), "userId")).toEqual([
      [1, 2],
      [2, 1],
    ]);
    const rows = await runtime.bill({ by: ["actor", "day"], where: { userId: 1 } });
    expect(rows.map(({ of }) => of)).toEqual([
      { actor: "ann", day: "2024-10-04" },
      { actor: "bob", day: "2024-10-04" },
    ]);
    expect(shown(await runtime.bill({ by: "model", from: "2024-10-05" }), "model")).toEqual([
      [expect.stringMatching(/:scripted$/), 1],
    ]);
    expect(await runtime.bill({ to: "2024-10-03" })).toEqual([]);
    await expect(runtime.bill({ by: "user" })).rejects.toThrow(/`by`.*`user`.*`userId`/);
    await expect(runtime.bill({ from: "today" })).rejects.toThrow("a UTC day");
  });

  it("says what sub-agents spent, by their names and for who began the turn", async () => {
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "user"
        ? { ...calling(call("help", "1", { task: "Go." })), usage }
        : { ...saying("Done."), usage },
    );
    const tools = { help: agentTool({ agent: "helper", description: "Helps." }) };
    const agents = { main: { model, context, tools }, helper: agent() };
    await using runtime = await createRuntime({ memory: true, agents });
    const session = await runtime.session("s", { agent: "main", metadata: { tenant: "t" } });
    await (
      await session.send("Go.", { by: "ann" })
    ).result;
    const rows = await runtime.bill({ by: ["agent", "subAgent", "actor", "tenant"] });
    expect(rows.map(({ of, calls }) => ({ ...of, calls }))).toEqual([
      { agent: "main", subAgent: false, actor: "ann", tenant: "t", calls: 2 },
      { agent: "helper", subAgent: true, actor: "ann", tenant: "t", calls: 1 },
    ]);
  });

  it("gives a fork its own part only", async () => {
    await using runtime = await open(await openMemoryLog());
    await run(runtime, "s", { userId: 1 });
    const fork = await (await runtime.session("s")).fork({ id: "f" });
    expect((await runtime.bill())[0]?.calls).toBe(1);
    await (
      await fork.send("Go.")
    ).result;
    expect(shown(await runtime.bill({ by: "userId" }), "userId")).toEqual([[1, 2]]);
  });

  it("keeps what a deleted session spent, unless it is to be forgotten, also when all sums are made again", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log);
    for (const id of ["a", "b", "c"]) await run(runtime, id, { userId: id });
    await runtime.delete("a");
    expect((await runtime.bill())[0]?.calls).toBe(3);
    await runtime.delete("b", { bill: "forget" });
    const kept = [
      ["a", 1],
      ["c", 1],
    ];
    expect(shown(await runtime.bill({ by: "userId" }), "userId")).toEqual(kept);
    // Other keys: another model, made from the log.
    const keys = ["userId", "other"];
    await using other = await createRuntime({ log, agent: agent(), bill: { keys } });
    expect(shown(await other.bill({ by: "userId" }), "userId")).toEqual(kept);
  });

  it("has the same sums in a copy of the store, of deleted sessions too", async () => {
    const [log, copy] = [await openMemoryLog(), await openMemoryLog()];
    await using runtime = await open(log);
    for (const id of ["a", "b"]) await run(runtime, id, { userId: id });
    await runtime.delete("a");
    const { signal } = new AbortController();
    const options = { signal, follow: false, onProgress: () => {}, onLost: () => {} };
    for (const _ of ["once", "again"]) await copyLog(log, copy, options);
    await using other = await open(copy);
    expect(await other.bill({ by: "userId" })).toEqual(await runtime.bill({ by: "userId" }));
    await expect(other.session("a")).rejects.toThrow("was deleted");
  });

  it("has the sums of encrypted sessions, and of those whose content is redacted", async () => {
    const log = await openMemoryLog();
    const encryption = { keys: memoryKeys() };
    await using runtime = await createRuntime({ log, agent: agent(), encryption });
    await run(runtime, "s", { tenant: "t" }, "ann");
    const before = await runtime.bill({ by: ["tenant", "actor"] });
    expect(before).toMatchObject([{ of: { tenant: "t", actor: "ann" }, calls: 1 }]);
    await runtime.redact("s", [{ from: 1, to: await log.revision("s") }]);
    expect(await runtime.bill({ by: ["tenant", "actor"] })).toEqual(before);
    // Made again, they have what is left: the call, and not for whom.
    const bill = { keys: ["other"] };
    await using other = await createRuntime({ log, agent: agent(), encryption, bill });
    const [left] = await other.bill({ by: "actor" });
    expect(left).toMatchObject({ of: {}, calls: 1, inputTokens: 1000 });
  });

  it("has what a session spent that another process deletes while it is read", async () => {
    const log = await openMemoryLog();
    await using one = await open(log);
    let meanwhile: (() => Promise<unknown>) | undefined;
    const readAll = async function* (options: Parameters<EventLog["readAll"]>[0]) {
      const act = meanwhile;
      meanwhile = undefined;
      await act?.();
      yield* log.readAll(options);
    };
    await using two = await open(
      new Proxy(log, {
        get: (target, key) => {
          const value: unknown = key === "readAll" ? readAll : Reflect.get(target, key);
          const bound: unknown = typeof value === "function" ? value.bind(target) : value;
          return bound;
        },
      }),
    );
    const shownNow = async () => shown(await two.bill({ by: "userId" }), "userId");
    await run(one, "a", { userId: 1 });
    // Nobody has asked before: the sums are made from what deleted sessions left.
    meanwhile = () => one.delete("a");
    expect(await shownNow()).toEqual([[1, 1]]);
    await run(one, "b", { userId: 1 });
    meanwhile = () => one.delete("b");
    expect(await shownNow()).toEqual([[1, 2]]);
    await run(one, "c", { userId: 1 });
    meanwhile = () => one.delete("c", { bill: "forget" });
    expect(await shownNow()).toEqual([[1, 2]]);
  });

  it("continues from the log after it could not be read", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log);
    await run(runtime, "a");
    await run(runtime, "b");
    await runtime.delete("a");
    const readAll = log.readAll.bind(log);
    const broken = async function* () {
      for await (const entry of readAll()) {
        yield entry;
        if (entry.event.type === "turn.started") throw new TurnlogError("LOG_FAILED", "Away.");
      }
    };
    Object.assign(log, { readAll: broken });
    await expect(runtime.bill()).rejects.toThrow("Away.");
    Object.assign(log, { readAll });
    expect((await runtime.bill())[0]?.calls).toBe(2);
  });

  it("looks up the payers of sessions that went on together, and has the same sums", async () => {
    const log = await openMemoryLog();
    const ids = ["a", "b", "c"];
    {
      await using runtime = await open(log);
      for (const id of ids) await run(runtime, id, { tenant: id });
      await runtime.bill();
    }
    {
      await using runtime = await open(log);
      for (const id of ids) await run(runtime, id);
    }
    const alone: string[] = [];
    const counted = wrapLog(log, {
      loadSnapshot: async (session, projection) => {
        if (projection.startsWith("payer")) alone.push(session);
        return await log.loadSnapshot(session, projection);
      },
      loadSnapshots: async (...given) => (await log.loadSnapshots?.(...given)) ?? [],
    });
    await using runtime = await open(counted);
    const rows = await runtime.bill({ by: "tenant" });
    expect(rows.map(({ of, calls }) => [of["tenant"], calls])).toEqual(ids.map((id) => [id, 2]));
    expect(alone).toEqual([]);
  });

  it("has the sums of what can be read, and warns of the rest", async () => {
    const log = await openMemoryLog();
    {
      await using runtime = await open(log);
      for (const id of ["a", "b"]) await run(runtime, id);
    }
    damage(log, "a");
    const warnings: string[] = [];
    await using runtime = await createRuntime({
      log,
      agent: agent(),
      onWarning: ({ code }) => void warnings.push(code),
    });
    expect((await runtime.bill())[0]?.calls).toBe(1);
    expect(new Set(warnings)).toEqual(new Set(["LOG_DAMAGED"]));
  });

  it("has the sums of the log for each of several processes, whatever they do and when they ask", async () => {
    const acts = fc.constantFrom("send", "ask", "delete", "forget", "reopen", "fork");
    const steps = fc.array(fc.tuple(acts, fc.nat({ max: 1 })), { minLength: 3, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(steps, async (planned) => {
        const log = await openMemoryLog();
        const runtimes = [await open(log), await open(log)];
        const asked: unknown[][] = [];
        let [made, gone] = [0, 0];
        for (const [act, which] of planned) {
          const runtime = runtimes[which] ?? (await open(log));
          const [first] = await Array.fromAsync(runtime.sessions());
          if (act === "ask") asked.push([await runtime.bill(), await runtime.bill()]);
          if (act === "send") await run(runtime, `s${made++}`);
          if (act === "reopen") {
            await runtime.close();
            runtimes[which] = await open(log);
          }
          if (first === undefined) continue;
          const { session } = first;
          if (act === "fork") await (await runtime.session(session)).fork({ id: `f${made++}` });
          if (act !== "delete" && act !== "forget") continue;
          const { usage: spent } = await (await runtime.session(session)).view();
          const bill = act === "delete" ? "keep" : "forget";
          await runtime.delete(session, { bill, forks: "copy" });
          if (act === "delete") gone += sessionCost(spent, known).total.dollars;
        }
        for (const [once, again] of asked) expect(again).toEqual(once);
        let expected = gone;
        for (const runtime of runtimes) await runtime.close();
        await using last = await open(log);
        for await (const { session } of last.sessions()) {
          const { usage: spent } = await (await last.session(session)).view();
          expected += sessionCost(spent, known).total.dollars;
        }
        for (const runtime of [last, await open(log)])
          expect((await runtime.bill())[0]?.dollars ?? 0).toBeCloseTo(expected);
      }),
      runs(30),
    );
  });
});
