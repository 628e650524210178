/** Triggers by turns, by rest and by a cold cache, and what else happens to a session between two of them. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import {
  agentTool,
  coldCache,
  dropOldest,
  everyTurns,
  idle,
  threshold,
  tokens,
  type Agent,
  type CompactionWhen,
  type Session,
} from "../../src/public/index.ts";
import type { CompactionFacts } from "../../src/context/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import type { ScriptedStep } from "../../src/models/index.ts";
import { dueAt, replay } from "../../src/public/testing.ts";
import { allow } from "../support/answering.ts";
import { ask } from "../support/asking.ts";
import { storedEvents } from "../support/replay.ts";
import { billingModel } from "../support/billing-model.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { testTime, type TestTime } from "../support/test-time.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { nothing } from "./tools.ts";

const HOUR = 3_600_000;
const limits = { contextWindow: 100_000, maxOutputTokens: 1000 };
const how = dropOldest({ keepTurns: 1 });
const long = "A tale that goes on and on. ".repeat(50);

function clockOf({ clock, timer }: TestTime): Pick<TestTime, "clock" | "timer"> {
  return { clock, timer };
}

/** One agent for a session and its replay. */
function agentWith(when: CompactionWhen, script: readonly ScriptedStep[] = []): Agent {
  const model = billingModel((_, index) => script[index] ?? long);
  return { model, context: { compact: { when, how }, limits: { [model.modelId]: limits } } };
}

/** The turns within which the prompt was compacted. */
function compactedIn(events: readonly SessionEvent[]): readonly number[] {
  const turns: number[] = [];
  let turn = 0;
  for (const event of events) {
    if (event.type === "turn.started") ({ turn } = event.data);
    if (event.type === "context.compacted") turns.push(turn);
  }
  return turns;
}

async function turnsOf(open: OpenSession): Promise<readonly number[]> {
  return compactedIn(await open.events());
}

async function say(session: Session, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await ask(session, "Go on with the tale, please.");
}

describe("a trigger by turns", () => {
  it("compacts whenever so many have ended, also in another process, and a replay repeats it", async () => {
    const agent = agentWith(everyTurns(3));
    const open = await openSession(agent);
    await say(open.session, 5);
    const again = await reopen(open, agent);
    await say(again.session, 5);
    expect(await turnsOf(again)).toEqual([4, 7, 10]);
    const { difference } = await replay(await again.events(), agent);
    expect(difference).toBeUndefined();
    await again.runtime.close();
  });

  it("counts the turns of its branch, of a fork with those it shares, and of a sub-agent its own", async () => {
    await using open = await openSession(agentWith(everyTurns(3)));
    await say(open.session, 3);
    const [before] = (await open.events()).filter(({ type }) => type === "turn.ended");
    const fork = await open.session.fork();
    await say(fork, 1);
    expect(compactedIn(await storedEvents(open.log, fork.id))).toEqual([4]);
    await open.session.rewind({ to: before?.position ?? 0 });
    await say(open.session, 2);
    expect(await turnsOf(open)).toEqual([]);
    await say(open.session, 1);
    expect((await turnsOf(open)).length).toBe(1);
    // Before the compaction again: the branch has three turns and no compaction.
    const ends = (await open.events()).filter(({ type }) => type === "turn.ended");
    await open.session.rewind({ to: ends.at(-2)?.position ?? 0 });
    await say(open.session, 1);
    expect((await turnsOf(open)).length).toBe(2);

    const child = agentTool({ agent: agentWith(everyTurns(1)), description: "Tells tales." });
    const script = [calling(call("tell", "1", { task: "One." }))];
    const parent = { ...agentWith(everyTurns(9), script), tools: { tell: child } };
    await using family = await openSession(parent);
    await say(family.session, 3);
    expect(await turnsOf(family)).toEqual([]);
  });

  it("counts on after an undo", async () => {
    await using open = await openSession(agentWith(everyTurns(2)));
    await say(open.session, 3);
    await open.session.restore();
    await say(open.session, 2);
    expect(await turnsOf(open)).toEqual([3, 5]);
  });
});

it("what was brought back is sent before it is compacted again, also by size, and several times in a row", async () => {
  await using open = await openSession(agentWith(tokens(1000)));
  await say(open.session, 4);
  for (const turn of [4, 6, 8]) {
    expect((await turnsOf(open)).at(-1)).toBe(turn);
    await open.session.restore();
    expect((await open.session.context()).due).toBe("wait");
    await say(open.session, 1);
    expect((await turnsOf(open)).at(-1)).toBe(turn);
    await say(open.session, 1);
  }
});

describe("a trigger by rest", () => {
  it("compacts when a message ends it: one for later, and one in a process that found the session", async () => {
    const time = testTime();
    const agent = agentWith(idle(HOUR));
    const first = await openSession(agent, { ...clockOf(time), idleAfterMs: 1000 });
    await say(first.session, 1);
    await time.pass(HOUR - 1);
    await say(first.session, 1);
    const later = await first.session.send("Later.", { notBefore: new Date(time.clock() + HOUR) });
    await time.pass(HOUR);
    await later.result;
    expect(await turnsOf(first)).toEqual([3]);
    const again = await reopen(first, agent, clockOf(time));
    await say(again.session, 1);
    expect(await turnsOf(again)).toEqual([3]);
    await time.pass(HOUR);
    await say(again.session, 2);
    expect(await turnsOf(again)).toEqual([3, 5]);
    await again.runtime.close();
  });

  it("is not ended by an answer that a call waited for, nor by the wait itself", async () => {
    const time = testTime();
    // oxlint-disable-next-line typescript/no-deprecated
    const wait = tool({ inputSchema: nothing, needsApproval: true, execute: () => "done" });
    const script = [long, long, calling(call("wait", "1"))];
    const agent = { ...agentWith(idle(HOUR), script), tools: { wait } };
    await using open = await openSession(agent, clockOf(time));
    await say(open.session, 2);
    const turn = await open.session.send("Wait.");
    await seen(open.session, "tool.approval-requested");
    await time.pass(2 * HOUR);
    await allow(open.session, "1");
    await turn.result;
    expect(await turnsOf(open)).toEqual([]);
  });

  it("does not compact what was brought back while the session rested", async () => {
    const time = testTime();
    await using open = await openSession(agentWith(idle(HOUR)), clockOf(time));
    await say(open.session, 3);
    await time.pass(HOUR);
    await open.session.compact();
    await open.session.restore();
    expect((await open.session.context()).due).toBe("wait");
    await say(open.session, 2);
    expect(await turnsOf(open)).toEqual([3]);
    await time.pass(HOUR);
    expect((await open.session.context()).due).toBe("compact");
    await say(open.session, 1);
    expect(await turnsOf(open)).toEqual([3, 6]);
  });
});

it("without a limit of its own, a trigger leaves results whole that fit the window", async () => {
  const tell = tool({ inputSchema: nothing, execute: () => long });
  const agent = { ...agentWith(everyTurns(9), [calling(call("tell", "1"))]), tools: { tell } };
  await using open = await openSession(agent);
  await say(open.session, 2);
  expect(await open.types()).not.toContain("context.cut");
});

it("a trigger by a cold cache compacts a large prompt after a pause, and none that the cache has", async () => {
  const time = testTime();
  await using open = await openSession(agentWith(coldCache(0.01)), clockOf(time));
  await say(open.session, 6);
  await time.pass(2 * HOUR);
  expect(await turnsOf(open)).toEqual([]);
  expect((await open.session.context()).due).toBe("compact");
  await say(open.session, 1);
  expect(await turnsOf(open)).toEqual([7]);
});

describe("a trigger of a user", () => {
  it("is told the facts of each step, frozen, and compacts in no step in vain", async () => {
    const seen: Omit<CompactionFacts, "history" | "idleMs">[] = [];
    const due = ({ history, idleMs: _, ...facts }: CompactionFacts): boolean => {
      expect(Object.isFrozen(history.items)).toBe(true);
      seen.push(facts);
      return true;
    };
    const vain = { name: "vain", plan: () => undefined, writer: { request: () => undefined } };
    const agent = agentWith({ name: "always", due });
    const compact = { when: { name: "always", due }, how: vain };
    await using open = await openSession({ ...agent, context: { ...agent.context, compact } });
    await say(open.session, 40);
    expect(seen[0]).toMatchObject({ turns: 0, steps: 0, window: 100_000, isCached: false });
    expect(seen.at(-1)).toMatchObject({ turns: 39, steps: 0, isCached: true });
    const before = (await open.events()).flatMap(({ type, data }) =>
      type === "context.compaction-rejected" ? [data.beforeTokens ?? 0] : [],
    );
    expect(before.length).toBeGreaterThan(10);
    for (const [index, size] of before.slice(1).entries())
      expect(size).toBeGreaterThan(1.05 * (before[index] ?? 0));
  });

  it("with neither a limit nor a reason is refused", async () => {
    const when = { name: "mine" };
    await expect(openSession(agentWith(when))).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("`limit` or `due`") as string,
    });
  });

  it("is asked by dueAt where it would compact in a recorded session", async () => {
    const time = testTime();
    await using open = await openSession(agentWith(tokens(1e9)), clockOf(time));
    await say(open.session, 4);
    await time.pass(HOUR);
    await say(open.session, 3);
    const events = await open.events();
    const turns = async (when: CompactionWhen) =>
      (await dueAt(events, when, { limits: { billing: limits } })).map(({ turn }) => turn);
    expect(await turns(everyTurns(3))).toEqual([4, 7]);
    expect(await turns(idle(HOUR))).toEqual([5]);
    expect(await turns(coldCache(0.01))).toEqual([5]);
    expect(await turns(threshold(1))).toEqual([]);
    const [due] = await dueAt(events, { name: "own", due: (facts) => facts.turns === 2 });
    const step = events.find(({ position }) => position === due?.position);
    expect(step).toMatchObject({ type: "step.started", data: { turn: 3, step: due?.step } });
  });

  it("is found by dueAt at the steps before which the session compacted itself, also by size", async () => {
    for (const when of [everyTurns(3), tokens(1000)]) {
      await using open = await openSession(agentWith(when));
      await say(open.session, 8);
      const due = await dueAt(await open.events(), when, { limits: { billing: limits } });
      expect(due.map(({ turn }) => turn)).toEqual(await turnsOf(open));
      expect(due.length).toBeGreaterThan(1);
    }
  });

  it("is checked by dueAt as in an agent", async () => {
    const when = { ...everyTurns(3), limit: "1000" };
    // @ts-expect-error -- as a program in JavaScript may have it
    await expect(dueAt([], when)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const limits = { billing: { contextTokens: 1000 } };
    // @ts-expect-error -- as above
    await expect(dueAt([], everyTurns(3), { limits })).rejects.toThrow("contextTokens");
  });

  it("that answers neither true nor false fails in dueAt as in a turn", async () => {
    await using open = await openSession(agentWith(tokens(1e9)));
    await say(open.session, 1);
    const when = { name: "mine", due: () => false };
    Reflect.set(when, "due", () => undefined);
    await expect(dueAt(await open.events(), when)).rejects.toMatchObject({
      code: "CALLBACK_FAILED",
      details: { option: "context.compact.when.due" },
    });
  });
});
