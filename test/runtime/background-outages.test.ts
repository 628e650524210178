/** What a runtime does by itself while its store is away: it is tried until it is done, and reported once. */

import { describe, expect, it } from "vitest";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  type Agent,
  type Runtime,
  type RuntimeOptions,
  type StoreLog,
  type TurnlogError,
} from "../../src/public/index.ts";
import type { Claim, EventLog } from "../../src/events/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { memoryBlobs } from "../../src/store/blobs/index.ts";
import { failingLog, type FailingLog } from "../support/failing-log.ts";
import { storedEvents } from "../support/replay.ts";
import { severableLog } from "../support/severed-log.ts";
import { seen } from "../support/seen.ts";
import { call, calling, saying } from "../support/script.ts";
import { testTime, type TestTime } from "../support/test-time.ts";

const LONG = 600_000;
/** Too large for an event. */
const file = Buffer.alloc(100_000, "%PDF-1.7 ");
const agent = { model: scriptedModel(() => "Done.") };

interface Open<Log extends EventLog> extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly log: FailingLog<Log>;
  readonly time: TestTime;
  readonly warnings: TurnlogError[];
}

async function open<Log extends EventLog>(
  real: Log,
  options: Partial<
    Pick<RuntimeOptions, "resume" | "recovery" | "idleAfterMs"> & { readonly agent: Agent }
  > = {},
  prepare: (log: FailingLog<Log>) => void = () => {},
): Promise<Open<Log>> {
  const log = failingLog(real);
  prepare(log);
  const time = testTime();
  const warnings: TurnlogError[] = [];
  const runtime = await createRuntime({
    log: log.log,
    agent,
    graceMs: 1,
    onWarning: (warning) => void warnings.push(warning),
    testing: { clock: time.clock, timer: time.timer },
    ...options,
  });
  return {
    runtime,
    log,
    time,
    warnings,
    async [Symbol.asyncDispose]() {
      log.back();
      await runtime.close();
      expect(time.waits).toEqual([]);
    },
  };
}

async function delivered(log: EventLog, session: string): Promise<readonly string[]> {
  return (await storedEvents(log, session)).flatMap((event) =>
    event.type === "message.delivered" ? event.data.ids : [],
  );
}

describe("a message for later", () => {
  it.each([undefined, "append", "read", "loadSnapshot"] as const)(
    "that falls due in an outage (%s) comes when it is over, also if nobody opens the session",
    async (method) => {
      const real = await openMemoryLog();
      await using one = await open(real);
      const { runtime, time } = one;
      // More than are activated at the same time.
      const sessions = Array.from({ length: 9 }, (_, index) => `s${index}`);
      for (const id of sessions) {
        const session = await runtime.session(id);
        await session.send("Later.", { id: "m", notBefore: new Date(time.clock() + 1000) });
      }
      await runtime.close();
      await using next = await open(real, { resume: "all" });
      await next.time.pass(0);
      if (method === undefined) next.log.outage();
      else next.log.fails(method);
      await next.time.pass(LONG);
      for (const id of sessions) expect(await delivered(real, id)).toEqual([]);
      // Once for each session.
      expect(next.warnings).toHaveLength(sessions.length);
      expect(new Set(next.warnings.map(({ session }) => session))).toEqual(new Set(sessions));
      next.log.back();
      await next.time.pass(20_000);
      for (const id of sessions) expect(await delivered(real, id)).toEqual(["m"]);
      expect(next.warnings).toHaveLength(sessions.length);
    },
  );

  it("is taken again if the log fails just when it is delivered", async () => {
    const real = await openMemoryLog();
    await using one = await open(real);
    const session = await one.runtime.session("s");
    await session.send("Later.", { id: "m", notBefore: new Date(one.time.clock() + 1000) });
    one.log.fails("append", 1);
    await one.time.pass(1000);
    expect(await delivered(real, "s")).toEqual([]);
    await one.time.pass(1000);
    expect(await delivered(real, "s")).toEqual(["m"]);
    expect(one.warnings).toMatchObject([{ code: "SESSION_FAILED", session: "s" }]);
  });

  it("is asked for no more when its runtime is closed", async () => {
    const real = await openMemoryLog();
    await using one = await open(real);
    const session = await one.runtime.session("s");
    await session.send("Later.", { notBefore: new Date(one.time.clock() + 1000) });
    one.log.fails("append");
    await one.time.pass(5000);
    await one.runtime.close();
    expect(one.time.waits).toEqual([]);
    const tries = one.log.calls("append");
    await one.time.pass(LONG);
    expect(one.log.calls("append")).toBe(tries);
  });
});

describe("a runtime that resumes all sessions", () => {
  it.each(["list", "read", "append", undefined] as const)(
    "does so after a long outage (%s), and says once what it waits for",
    async (method) => {
      const real = await openMemoryLog();
      const mortal = severableLog(real);
      const hold = gate();
      const died = await createRuntime({
        log: mortal,
        agent: { model: scriptedModel([saying("One ", hold)]) },
      });
      const session = await died.session("s");
      await session.send("Go.");
      await hold.reached;
      await seen(session, "step.started");
      mortal.sever();
      const prepare = (log: FailingLog<StoreLog>): void =>
        method === undefined ? log.outage() : log.fails(method);
      await using next = await open(real, { resume: "all", recovery: "continue" }, prepare);
      const before = (await storedEvents(real, "s")).length;
      await next.time.pass(LONG);
      expect(await storedEvents(real, "s")).toHaveLength(before);
      expect(next.warnings).toHaveLength(1);
      next.log.back();
      await next.time.pass(20_000);
      expect((await storedEvents(real, "s")).at(-1)).toMatchObject({ type: "turn.ended" });
      expect(next.warnings).toHaveLength(1);
    },
  );
});

it.each(["passivation", "a failed write"])(
  "a session that could not be given back after %s is given back later",
  async (why) => {
    const real = await openMemoryLog();
    const held = new Set<string>();
    let isUnfinished: boolean | undefined;
    const claimOf = (session: string): Claim => ({
      epoch: undefined,
      lost: new AbortController().signal,
      assertHeld: () => {},
      release: async ({ unfinished } = {}) => {
        held.delete(session);
        isUnfinished = unfinished;
      },
    });
    const owned = wrapLog(real, {
      ownership: {
        claim: async (session) => (held.add(session), claimOf(session)),
      },
    });
    await using one = await open(owned, { idleAfterMs: 1 });
    one.log.fails("claim.release");
    const session = await one.runtime.session("s");
    if (why === "a failed write") {
      one.log.fails("append", 1);
      await session.send("Go.").catch(() => {});
    }
    await expect.poll(() => one.warnings.length).toBe(1);
    await one.time.pass(LONG);
    expect(one.warnings).toMatchObject([{ code: "LOG_FAILED", session: "s" }]);
    expect(held).toEqual(new Set(["s"]));
    one.log.back();
    await one.time.pass(10_000);
    expect(held).toEqual(new Set());
    // What the log lacks, another process makes up for.
    expect(isUnfinished).toBe(why === "a failed write");
  },
);

it("a claim that cannot be given back fails no deletion", async () => {
  const real = await openMemoryLog();
  const owned = wrapLog(real, {
    ownership: {
      claim: async () => ({
        epoch: undefined,
        lost: new AbortController().signal,
        assertHeld: () => {},
        release: async () => {},
      }),
    },
  });
  await using one = await open(owned);
  await (
    await (await one.runtime.session("s")).send("Go.")
  ).result;
  one.log.fails("claim.release");
  expect(await one.runtime.delete("s")).toMatchObject({ session: "s" });
});

it("a sub-agent whose log fails continues with its turn when that works again: its call waits", async () => {
  const real = await openMemoryLog();
  let isOut = false;
  const failing = wrapLog(real, {
    append: (session, ...append) =>
      isOut && session.includes("/")
        ? Promise.reject(new Error("the database is away"))
        : real.append(session, ...append),
  });
  const hold = gate();
  let isHeld = true;
  const model = scriptedModel(() => {
    const script = isHeld ? saying("One ", hold) : "Researched.";
    isHeld = false;
    return script;
  });
  const research = agentTool({ agent: { model }, description: "Researches." });
  const caller = scriptedModel([calling(call("research", "1", { task: "Look." })), "Thanks."]);
  await using one = await open(failing, {
    agent: { model: caller, tools: { research } },
  });
  const session = await one.runtime.session("s");
  const turn = await session.send("Go.");
  await hold.reached;
  isOut = true;
  hold.open();
  await one.time.pass(LONG);
  expect((await session.view()).toolCalls).toMatchObject([{ status: "running" }]);
  expect(one.warnings).toHaveLength(1);
  isOut = false;
  await one.time.pass(10_000);
  expect(await turn.result).toMatchObject({ text: "Thanks." });
  expect((await session.view()).toolCalls).toMatchObject([{ status: "succeeded" }]);
});

it("the blobs of a deleted session are deleted too, though the store was away just then", async () => {
  const real = await openMemoryLog();
  const blobs = memoryBlobs();
  await using one = await open(wrapLog(real, { blobs }));
  const session = await one.runtime.session("s");
  await (
    await session.send([{ type: "file", mediaType: "application/pdf", data: file }])
  ).result;
  expect(await Array.fromAsync(blobs.list())).toHaveLength(1);
  one.log.fails("blobs.collect");
  expect(await one.runtime.delete("s")).toMatchObject({ blobs: { removed: 0 } });
  await one.time.pass(LONG);
  expect(one.warnings).toMatchObject([{ session: "s" }]);
  one.log.back();
  await one.time.pass(10_000);
  expect(await Array.fromAsync(blobs.list())).toEqual([]);
});
