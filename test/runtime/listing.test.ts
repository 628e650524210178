/** Pages of sessions: newest first by the beginning of their last turn, filtered, without a gap. */

import { tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, type Runtime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { listSessions } from "../../src/state/index.ts";
import { ask } from "../support/asking.ts";
import { runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";

const agent = { model: scriptedModel(() => "Fine.") };

/** A runtime whose clock counts up, or does what the test says. */
async function timed(clock?: () => number): Promise<Runtime> {
  let now = 1000;
  return await createRuntime({ memory: true, agent, testing: { clock: clock ?? (() => ++now) } });
}

type Query = NonNullable<Parameters<Runtime["sessions"]>[0]>;

async function names(runtime: Runtime, query: Query): Promise<readonly string[]> {
  return (await Array.fromAsync(runtime.sessions(query))).map(({ session }) => session);
}

describe("a list of sessions", () => {
  it("is newest first by the beginning of the last turn, whatever was recorded since", async () => {
    await using runtime = await timed();
    for (const id of ["a", "b", "c"]) await ask(await runtime.session(id), "Hello.");
    await runtime.session("new");
    await ask(await runtime.session("a"), "Again.");
    await (await runtime.session("b")).setMetadata({ late: true });
    expect(await names(runtime, {})).toEqual(["a", "new", "c", "b"]);
    expect((await Array.fromAsync(runtime.sessions())).map(({ session }) => session)).toEqual([
      "a",
      "b",
      "c",
      "new",
    ]);
  });

  it("has the sessions that all filters take", async () => {
    await using runtime = await timed();
    for (const [id, metadata] of Object.entries({
      "x/1": { userId: "u-1", tags: ["a"] },
      "x/2": { userId: "u-2", tags: ["a"] },
      y1: { userId: "u-1", tags: [] },
    }).map(([id, one]) => [id.replace("/", "."), one] as const))
      await ask(await runtime.session(id, { metadata }), "Hello.");
    await (await runtime.session("y1")).close();
    expect(await names(runtime, { where: { userId: "u-1" } })).toEqual(["y1", "x.1"]);
    expect(await names(runtime, { where: { tags: ["a"] } })).toEqual(["x.2", "x.1"]);
    expect(await names(runtime, { where: { toString: "u-1" } })).toEqual([]);
    expect(await names(runtime, { where: { ["__proto__"]: {} } })).toEqual([]);
    expect(await names(runtime, { prefix: "x." })).toEqual(["x.2", "x.1"]);
    expect(await names(runtime, { status: "closed" })).toEqual(["y1"]);
    expect(await names(runtime, { status: ["closed", "idle"], prefix: "x" })).toEqual([
      "x.2",
      "x.1",
    ]);
    expect(await names(runtime, { status: "idle", where: { userId: "u-1" } })).toEqual(["x.1"]);
  });

  it("has what a turn waits for", async () => {
    const pay = tool({ inputSchema: z.object({}), execute: () => 1 });
    const model = scriptedModel([calling(call("pay", "1")), "Paid."]);
    await using runtime = await createRuntime({
      memory: true,
      agent: { model, tools: { pay }, toolApproval: { pay: "user-approval" } },
    });
    const session = await runtime.session("s");
    const turn = await session.send("Pay.");
    const { approvals } = await session.atRest();
    const listed = await Array.fromAsync(runtime.sessions({ status: "awaiting-approval" }));
    expect(listed).toMatchObject([{ session: "s", awaitingApproval: approvals }]);
    await session.approve(approvals[0]?.approvalId ?? "");
    await turn.result;
    expect(await names(runtime, { status: "awaiting-approval" })).toEqual([]);
  });

  it("comes in pages that are the whole list, whatever the clock did", async () => {
    const times = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 60, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(times, fc.integer({ min: 1, max: 5 }), async (clock, limit) => {
        let tick = 0;
        await using runtime = await timed(() => clock[tick++ % clock.length] ?? 1);
        for (const id of ["d", "a", "c", "b", "e"]) {
          const session = await runtime.session(id);
          if (id < "d") await ask(session, "Hello.");
        }
        const whole = await Array.fromAsync(runtime.sessions({}));
        const keys = whole.map(({ lastTurnAt, createdAt, updatedAt }) =>
          Math.min(lastTurnAt ?? createdAt, updatedAt),
        );
        expect(keys).toEqual(keys.toSorted((one, other) => other - one));
        expect(whole.map(({ session }) => session).toSorted()).toEqual(["a", "b", "c", "d", "e"]);
        const paged: string[] = [];
        let after: Query["after"];
        // One page more than sessions: an order without an end must not hang the test.
        for (let pages = 0; pages <= whole.length; pages++) {
          const page = await Array.fromAsync(runtime.sessions({ limit, after }));
          expect(page.length).toBeLessThanOrEqual(limit);
          if (page.length === 0) break;
          paged.push(...page.map(({ session }) => session));
          after = page.at(-1);
        }
        expect(paged).toEqual(whole.map(({ session }) => session));
      }),
      runs(15),
    );
  });

  it("reads the summaries of a page, not those of all sessions", async () => {
    await using log = await openMemoryLog();
    let now = 1000;
    await using writer = await createRuntime({ log, agent, testing: { clock: () => ++now } });
    for (let index = 0; index < 40; index++) await ask(await writer.session(`s${index}`), "Hello.");
    await writer.close();
    const read = new Set<string>();
    const watched = wrapLog(log, {
      loadSnapshot: (session, projection) => {
        read.add(session);
        return log.loadSnapshot(session, projection);
      },
    });
    await using runtime = await createRuntime({ log: watched, agent });
    expect(await names(runtime, { limit: 3 })).toEqual(["s39", "s38", "s37"]);
    expect(read.size).toBeLessThanOrEqual(5);
  });

  it("takes each stored summary from the look-up of many, and reads none again", async () => {
    await using log = await openMemoryLog();
    await using writer = await createRuntime({ log, agent });
    for (const id of ["a", "b", "c"]) await ask(await writer.session(id), "Hello.");
    await writer.close();
    const asked: unknown[] = [];
    const watched = wrapLog(log, {
      loadSnapshot: (session, projection) => {
        asked.push(session);
        return log.loadSnapshot(session, projection);
      },
      loadSnapshots: async (sessions, projection) => {
        asked.push(sessions);
        return await Promise.all(sessions.map((session) => log.loadSnapshot(session, projection)));
      },
    });
    const rows = await Array.fromAsync(listSessions(watched));
    expect(rows.map(({ session, turns }) => [session, turns])).toEqual([
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ]);
    expect(asked).toEqual([["a", "b", "c"]]);
  });

  it("refuses what is not a query", async () => {
    await using runtime = await timed();
    const wrong = { limits: 3 } as unknown as Query;
    expect(() => runtime.sessions(wrong)).toThrow("Did you mean `query.limit`?");
    expect(() => runtime.sessions({ limit: 0 })).toThrow("`query.limit` must be");
    const status = "waiting" as unknown as "idle";
    expect(() => runtime.sessions({ status })).toThrow("`query.status` must be");
  });
});
