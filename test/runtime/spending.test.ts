/** Limits of spending: no call is made that would pass one, and the sums are those of the log. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
  type RuntimeOptions,
  type Session,
} from "../../src/public/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { BillModel } from "../../src/runtime/figures/bill-model.ts";
import { SpendingLedger } from "../../src/runtime/figures/spending-ledger.ts";
import { readSessionState } from "../../src/state/index.ts";
import { replay } from "../../src/replay/index.ts";
import { runs } from "../support/runs.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { testTime } from "../support/test-time.ts";
import { severableLog } from "../support/severed-log.ts";

const DAY = 86_400_000;
const prices = { input: 10, output: 50 };
type Limits = NonNullable<RuntimeOptions["limits"]>;

/** Each reply costs 1000 tokens of prompt and 100 of reply: 1100 tokens, 1.5 cents. */
const usage = {
  inputTokens: { total: 1000, noCache: 1000, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 100, text: 100, reasoning: 0 },
};

function agent() {
  const model = scriptedModel(() => ({ ...saying("Done."), usage }));
  return { model, context: { limits: { scripted: { prices } } } };
}

/** An agent that calls another one in each turn, by calls of the same cost. */
function caller(subAgent: Agent): Agent {
  const { context } = agent();
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "user"
      ? { ...calling(call("help", "1", { task: "Go." })), usage }
      : { ...saying("Done."), usage },
  );
  return { model, context, tools: { help: agentTool({ agent: subAgent, description: "Helps." }) } };
}

async function open(log: EventLog, limits: Limits, now = { time: 0 }): Promise<Runtime> {
  return await createRuntime({ log, agent: agent(), limits, testing: { clock: () => now.time } });
}

async function ends(runtime: Runtime, id: string, metadata = {}): Promise<string> {
  const session = await runtime.session(id, { metadata });
  return (await (await session.send("Go.")).result).finishReason;
}

it("keeps no session in memory that is not live, nor its sub-agents, and reads them again from the log", async () => {
  const log = await openMemoryLog();
  {
    const limits = { session: { tokens: 100_000 } };
    await using runtime = await createRuntime({ log, agent: caller(agent()), limits });
    expect(await ends(runtime, "s")).toBe("stop");
  }
  const limits = { session: { tokens: 4000 }, perKey: { tenant: { tokens: 1 } } };
  const own = { log, prices: () => ({}), ready: async () => {} };
  const bill = new BillModel({ ...own, keys: ["tenant"], onWarning: () => {} });
  const ledger = new SpendingLedger({ ...own, limits, bill, clock: () => 0 });
  const state = await readSessionState(log, "s");
  const isOver = async (): Promise<boolean> => {
    await ledger.load("s", undefined);
    const call = { model: { provider: "x", modelId: "y" }, promptTokens: 1000 };
    return ledger.limitReached({ session: "s", state }, call, {}) !== undefined;
  };
  // Three calls, and the next one.
  expect(await isOver()).toBe(true);
  expect(ledger.size).toBe(2);
  ledger.passivated("s", (one) => one !== "s");
  expect(ledger.size).toBe(2);
  ledger.passivated("s", () => false);
  expect(ledger.size).toBe(0);
  expect(await isOver()).toBe(true);
});

describe("a limit of a session", () => {
  it("ends the turn before the call that would pass it, with a reason and the figures", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log, { session: { tokens: 2400 } });
    expect([await ends(runtime, "s"), await ends(runtime, "s")]).toEqual(["stop", "stop"]);
    expect(await ends(runtime, "s")).toBe("out-of-budget");
    const reached = (await storedEvents(log, "s")).find(
      ({ type }) => type === "turn.limit-reached",
    );
    expect(reached?.data).toMatchObject({
      limit: "budget",
      budget: { of: "session", unit: "tokens", limit: 2400, spent: 2200 },
    });
    expect((await verifySession(log, "s")).problems).toEqual([]);
    expect(await ends(runtime, "other")).toBe("stop");
    const { state } = await (await runtime.session("s")).view();
    expect(state.context.held).toBe(true);
  });

  it("counts the prompt of the next call, and a model without a price cannot be called under dollars", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log, { session: { tokens: 40 } });
    const session = await runtime.session("s");
    const turn = await session.send("A long message. ".repeat(100));
    expect((await turn.result).finishReason).toBe("out-of-budget");
    const model = scriptedModel(() => "Done.");
    await using unpriced = await createRuntime({
      log: await openMemoryLog(),
      agent: { model },
      limits: { session: { dollars: 100 } },
    });
    expect(await ends(unpriced, "s")).toBe("out-of-budget");
    const [reached] = (await storedEvents(unpriced.log, "s")).filter(
      ({ type }) => type === "turn.limit-reached",
    );
    expect(reached?.data).toMatchObject({ budget: { unit: "dollars", unpriced: true } });
    expect(model.calls).toHaveLength(0);
  });

  it("counts what sub-agents spend at every depth, after a restart too, and nothing of others", async () => {
    const log = await openMemoryLog();
    const opened = (tokens: number): Promise<Runtime> =>
      createRuntime({
        log,
        agent: ({ id }) => (id === "s/1" ? caller(caller(agent())) : agent()),
        limits: { session: { tokens } },
      });
    {
      await using runtime = await opened(4000);
      // A call of each of the three agents, and the fifth one would be its own second.
      expect(await ends(runtime, "s/1")).toBe("out-of-budget");
      for (const id of ["s", "s/2", "s/10"]) expect(await ends(runtime, id)).toBe("stop");
    }
    const sessions = (await Array.fromAsync(log.list({ prefix: "s/1" }))).map((one) => one.session);
    const family = sessions.filter((id) => id === "s/1" || id.startsWith("s/1/"));
    expect(family).toHaveLength(3);
    for (const id of family.toReversed()) {
      {
        await using tight = await opened(4000);
        expect(await ends(tight, id)).toBe("out-of-budget");
      }
      await using wide = await opened(40_000);
      expect(await (await (await wide.session(id)).send("Go.")).result).toMatchObject({
        text: "Done.",
      });
    }
  });

  it("does not count what a fork inherited", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log, { session: { tokens: 2400 } });
    expect([await ends(runtime, "s"), await ends(runtime, "s")]).toEqual(["stop", "stop"]);
    const fork = await (await runtime.session("s")).fork({ id: "f" });
    expect((await (await fork.send("Go.")).result).finishReason).toBe("stop");
    expect(await ends(runtime, "s")).toBe("out-of-budget");
  });
});

describe("a limit of a turn", () => {
  it("counts the turn and the sub-agents that it calls, and not what was before", async () => {
    const log = await openMemoryLog();
    // A call of the millisecond in which the next turn begins would count for it.
    let time = 0;
    const testing = { clock: () => time++ };
    const opened = (tokens: number): Promise<Runtime> =>
      createRuntime({ log, agent: caller(agent()), limits: { turn: { tokens } }, testing });
    {
      // Two calls of its own and one of the sub-agent.
      await using wide = await opened(4000);
      for (const _ of [1, 2]) expect(await ends(wide, "s")).toBe("stop");
    }
    await using tight = await opened(2200);
    expect(await ends(tight, "s")).toBe("out-of-budget");
    const events = await storedEvents(log, "s");
    const reached = events.find(({ type }) => type === "turn.limit-reached");
    expect(reached?.data).toMatchObject({ budget: { of: "turn", limit: 2200, spent: 2200 } });
  });

  it("ends the turn of a sub-agent too, whose calls count for it", async () => {
    const log = await openMemoryLog();
    const limits = { turn: { tokens: 1100 } };
    await using runtime = await createRuntime({ log, agent: caller(agent()), limits });
    expect(await ends(runtime, "s")).toBe("out-of-budget");
    const list = await Array.fromAsync(log.list());
    const child = list.find(({ session }) => session !== "s")?.session ?? "";
    const ended = (await storedEvents(log, child)).find(({ type }) => type === "turn.ended");
    expect(ended?.data).toMatchObject({ reason: "out-of-budget" });
  });
});

describe("a limit of a key", () => {
  const limits: Limits = { perKey: { userId: { dollars: 0.03, per: "day" } } };

  it("holds for all sessions of a value together, for each value apart, and anew each day", async () => {
    const [log, now] = [await openMemoryLog(), { time: DAY * 20_000 }];
    await using runtime = await open(log, limits, now);
    expect(await ends(runtime, "a1", { userId: "a" })).toBe("stop");
    expect(await ends(runtime, "a2", { userId: "a" })).toBe("stop");
    expect(await ends(runtime, "a3", { userId: "a" })).toBe("out-of-budget");
    expect(await ends(runtime, "b1", { userId: "b" })).toBe("stop");
    expect(await ends(runtime, "none")).toBe("stop");
    now.time += DAY;
    expect(await ends(runtime, "a1", { userId: "a" })).toBe("stop");
  });

  it("survives restarts, with and without the time to store a snapshot", async () => {
    const [log, now] = [await openMemoryLog(), { time: DAY * 20_000 }];
    const first = await open(log, limits, now);
    await ends(first, "a1", { userId: "a" });
    await first.close();
    const mortal = severableLog(log);
    const second = await open(mortal, limits, now);
    await ends(second, "a2", { userId: "a" });
    mortal.sever();
    await using third = await open(log, limits, now);
    expect(await ends(third, "a3", { userId: "a" })).toBe("out-of-budget");
    expect(await ends(third, "b", { userId: "b" })).toBe("stop");
  });

  it("counts what was spent under a value, also after the session got another one or was deleted", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log, limits);
    await ends(runtime, "s", { userId: "a" });
    await ends(runtime, "s", { userId: "a" });
    await (await runtime.session("s")).setMetadata({ userId: "b" });
    expect(await ends(runtime, "a", { userId: "a" })).toBe("out-of-budget");
    expect(await ends(runtime, "b", { userId: "b" })).toBe("stop");
    await runtime.delete("s");
    expect(await ends(runtime, "a", { userId: "a" })).toBe("out-of-budget");
    await runtime.delete("b", { bill: "forget" });
    expect(await ends(runtime, "b2", { userId: "b" })).toBe("stop");
  });

  it("holds over several processes: each knows what the others have spent before each call", async () => {
    const log = await openMemoryLog();
    const limits = { perKey: { userId: { tokens: 2150 } } };
    const user = { userId: "u" };
    await using one = await open(log, limits);
    await using two = await open(log, limits);
    expect(await ends(one, "a", user)).toBe("stop");
    expect(await ends(two, "b", user)).toBe("stop");
    expect([await ends(one, "c", user), await ends(two, "d", user)]).toEqual([
      "out-of-budget",
      "out-of-budget",
    ]);
  });

  it("counts calls that run side by side before they are billed", async () => {
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    const model = scriptedModel(async () => {
      calls += 1;
      await gate.promise;
      return "Done.";
    });
    await using runtime = await createRuntime({
      memory: true,
      agent: { model },
      limits: { perKey: { userId: { tokens: 200 } } },
    });
    const turns = [];
    for (let index = 0; index < 8; index++) {
      const session = await runtime.session(`s${index}`, { metadata: { userId: "a" } });
      turns.push(await session.send("A message of some length. ".repeat(10)));
    }
    gate.resolve();
    const reasons = await Promise.all(turns.map(async (turn) => (await turn.result).finishReason));
    expect(calls).toBeLessThan(4);
    expect(reasons).toContain("out-of-budget");
  });
});

describe("a limit that holds", () => {
  const limits: Limits = { session: { tokens: 1500, hold: true } };

  /** A session that waits at its limit, before the call of its second turn. */
  async function held(runtime: Runtime, id = "s"): Promise<Session> {
    expect(await ends(runtime, id)).toBe("stop");
    const session = await runtime.session(id);
    await session.send("Go on.", { id: "m" });
    await session.atRest();
    return session;
  }

  async function reasonOf(session: Session, messageId = "m"): Promise<string> {
    return (await (await session.turn(messageId)).result).finishReason;
  }

  async function types(log: EventLog, id: string): Promise<readonly string[]> {
    return (await storedEvents(log, id)).flatMap(({ type }) =>
      type.startsWith("turn.") ? [type] : [],
    );
  }

  it("asks a person, who lets the turn go on with so much more, in the limit's own unit", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log, limits);
    const session = await held(runtime);
    const budget = { of: "session", unit: "tokens", limit: 1500, spent: 1100 };
    expect((await session.view()).budget).toMatchObject(budget);
    expect(await (await session.turn("m")).untilRest()).toMatchObject({ kind: "waiting", budget });
    expect(await runtime.approvals()).toMatchObject([{ kind: "budget", session: "s", budget }]);
    const rows = await Array.fromAsync(runtime.sessions({ status: "awaiting-budget" }));
    expect(rows).toMatchObject([{ session: "s" }]);
    await expect(session.allow({ dollars: 5 })).rejects.toThrow("waits at a limit of tokens");
    // Too little: the person is asked again.
    await session.allow({ tokens: 1 });
    await session.atRest();
    expect((await session.view()).budget).toMatchObject({ limit: 1501 });
    await session.allow({ tokens: 1000, by: "ann" });
    expect(await reasonOf(session)).toBe("stop");
    await expect(session.allow({ tokens: 1 })).rejects.toThrow("no limit of spending holds");
    expect(await runtime.approvals()).toEqual([]);
    // It was for that turn.
    await session.send("And on.");
    expect((await session.atRest()).budget).toMatchObject({ limit: 1500, spent: 2200 });
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("waits through a restart without asking again, while messages wait, until it is allowed or cancelled", async () => {
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const first = await open(mortal, limits);
    await held(first);
    mortal.sever();
    await using runtime = await createRuntime({ log, agent: agent(), limits, resume: "all" });
    const session = await runtime.session("s");
    await session.send("Then this.", { id: "next" });
    expect((await session.atRest()).queue).toMatchObject([{ id: "next" }]);
    expect((await types(log, "s")).slice(2)).toEqual(["turn.started", "turn.held"]);
    await session.allow({ tokens: 1000 });
    expect(await reasonOf(session)).toBe("stop");
    await session.atRest();
    expect(await session.cancel()).toMatchObject({ ended: "cancelled" });
    expect(await reasonOf(session, "next")).toBe("cancelled");
    expect((await session.view()).budget).toBeUndefined();
  });

  it("holds a sub-agent at the limit of its caller, and what is allowed there is asked of no one again", async () => {
    const log = await openMemoryLog();
    const opened = (): Promise<Runtime> =>
      createRuntime({
        log,
        agent: caller(agent()),
        limits: { turn: { tokens: 1100, hold: true } },
        recovery: "continue",
      });
    {
      await using runtime = await opened();
      await (await runtime.session("s")).send("Go.", { id: "m" });
      await expect.poll(async () => await runtime.approvals()).toHaveLength(1);
    }
    await using runtime = await opened();
    const [asked] = await runtime.approvals();
    expect(asked).toMatchObject({ kind: "budget", budget: { of: "turn", spent: 1100 } });
    expect(asked?.session.startsWith("s/")).toBe(true);
    const child = await runtime.session(asked?.session);
    await child.allow({ tokens: 3000 });
    const session = await runtime.session("s");
    expect(await reasonOf(session)).toBe("stop");
    expect((await types(log, "s")).join()).toBe("turn.started,turn.ended");
  });

  it("holds in a fork too, and not after a rewind", async () => {
    const log = await openMemoryLog();
    await using runtime = await open(log, limits);
    const session = await held(runtime);
    const fork = await session.fork({ id: "f" });
    expect((await fork.view()).budget).toMatchObject({ spent: 1100 });
    await fork.allow({ tokens: 1 });
    expect(await reasonOf(fork)).toBe("stop");
    await session.rewind({ beforeTurn: 2 });
    expect((await session.view()).budget).toBeUndefined();
    expect((await types(log, "s")).at(-1)).toBe("turn.ended");
  });

  it("does not count the time that the turn waits, and all of it after that", async () => {
    const time = testTime();
    const model = scriptedModel(({ prompt }) =>
      prompt.length > 2 ? new Promise(() => {}) : { ...saying("Done."), usage },
    );
    await using runtime = await createRuntime({
      memory: true,
      agent: { ...agent(), model, timeout: { totalMs: 1000 } },
      limits,
      testing: { clock: time.clock, timer: time.timer },
    });
    const session = await held(runtime);
    await time.pass(5000);
    expect((await session.view()).budget).toBeDefined();
    await session.allow({ tokens: 1000 });
    await time.pass(1000);
    expect(await reasonOf(session)).toBe("timed-out");
  });

  it("ends the turn where no amount would help: the model has no price", async () => {
    const model = scriptedModel(() => "Done.");
    await using runtime = await createRuntime({
      memory: true,
      agent: { model },
      limits: { session: { dollars: 1, hold: true } },
    });
    expect(await ends(runtime, "s")).toBe("out-of-budget");
  });

  it("is repeated by a replay without limits, with what was allowed", async () => {
    const log = await openMemoryLog();
    const runtime = await open(log, limits);
    const session = await held(runtime);
    await session.allow({ tokens: 1000, by: "ann" });
    expect(await reasonOf(session)).toBe("stop");
    await runtime.close();
    const events = await storedEvents(log, "s");
    expect(await replay(events, agent())).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
  });
});

it.each([
  [{}, "`limits` must be an object with `turn`, `session` or `perKey`"],
  [{ session: undefined }, "`limits` must be an object with `turn`, `session` or `perKey`"],
  [{ perKey: {} }, "`limits.perKey` must be an object with a limit by key of the metadata"],
])("limits without effect, %o, are refused", async (limits, message) => {
  const opened = createRuntime({ memory: true, agent: agent(), limits: limits as Limits });
  await expect(opened).rejects.toThrow(message);
});

it("the sums are those of the log, whatever the order of turns, restarts and deletions", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.record({ session: fc.nat({ max: 3 }), days: fc.nat({ max: 1 }) }),
          fc.constantFrom("restart" as const, "delete" as const),
        ),
        { minLength: 1, maxLength: 10 },
      ),
      async (acts) => {
        const [log, now] = [await openMemoryLog(), { time: DAY * 20_000 }];
        const limits: Limits = { perKey: { tenant: { dollars: 0.05, per: "month" } } };
        const [reasons, expected, months]: [string[], string[], string[]] = [[], [], []];
        let runtime = await open(log, limits, now);
        for (const act of acts) {
          if (act === "restart") {
            await runtime.close();
            runtime = await open(log, limits, now);
          } else if (act === "delete") {
            for await (const { session } of runtime.sessions()) {
              await runtime.delete(session);
              break;
            }
          } else {
            now.time += act.days * DAY;
            const month = new Date(now.time).toISOString().slice(0, 7);
            const spent = months.filter((one) => one === month).length * 0.015;
            const session = await runtime.session(undefined, {
              metadata: { tenant: act.session % 1 },
            });
            const { finishReason } = await (await session.send("Go.")).result;
            if (finishReason === "stop") months.push(month);
            reasons.push(finishReason);
            expected.push(spent < 0.0495 ? "stop" : "out-of-budget");
          }
        }
        await runtime.close();
        expect(reasons).toEqual(expected);
      },
    ),
    runs(10),
  );
});

it("a turn that ended at a limit replays without limits", async () => {
  const log = await openMemoryLog();
  const runtime = await open(log, { session: { tokens: 1000 } });
  await ends(runtime, "s");
  await ends(runtime, "s");
  await runtime.close();
  const events = await storedEvents(log, "s");
  const outcome = await replay(events, agent());
  expect(outcome).toEqual({ events: events.length, parts: expect.anything() as unknown });
});
