/** Looking at sessions: at a position, live, and in the list. Looking changes nothing. */

import { describe, expect, it } from "vitest";
import { listSessions, viewOf } from "../../src/state/index.ts";
import { createRuntime, openMemoryLog, viewSession } from "../../src/public/index.ts";
import type { ReadRange } from "../../src/events/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { replay, stateAt } from "../support/replay.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const script = [calling(call("echo", "1", { value: 1 })), saying("Do", "ne.")];

describe("a session at a position", () => {
  it("shows what it knew there, and the prompt that a step would have sent", async () => {
    const model = scriptedModel(script);
    await using open = await openSession({ model, tools: { echo } });
    await (
      await open.session.send("Go.")
    ).result;
    const events = await open.events();
    const folded = replay(events);
    for (const { position } of events) {
      expect(await open.session.at(position)).toStrictEqual(viewOf("s", stateAt(folded, position)));
    }
    const sent = events.filter(({ type }) => type === "step.started");
    const prompts = await Promise.all(sent.map(({ position }) => open.session.at(position - 1)));
    expect(prompts.map(({ prompt }) => prompt.messages.length)).toEqual([1, 3]);
    expect(prompts.flatMap(({ prompt }) => promptProblems(prompt.messages))).toEqual([]);
    expect(await open.session.at(events.length)).toStrictEqual(await open.session.view());
    expect(await open.events()).toEqual(events);
  });

  it("is made once for all that look at the same state", async () => {
    await using open = await openSession({ model: scriptedModel([saying("Hi.")]) });
    const first = await open.session.view();
    expect(await open.session.view()).toBe(first);
    await (
      await open.session.send("Go.")
    ).result;
    const [one, other] = await Promise.all([open.session.view(), open.session.atRest()]);
    expect(one).toBe(other);
    expect(one.position).toBeGreaterThan(first.position);
  });

  it("shows the past also while a turn runs", async () => {
    const hold = gate();
    await using open = await openSession({ model: scriptedModel([saying("One ", hold, "two.")]) });
    const turn = await open.session.send("Go.");
    await hold.reached;
    expect(await open.session.at(1)).toMatchObject({ position: 1, history: [], queue: [] });
    expect(await open.session.at(2)).toMatchObject({ position: 2, queue: [{ content: "Go." }] });
    hold.open();
    await turn.result;
  });

  it.each([0, -1, 1.5, 99, Number.NaN])(
    "is refused when there is no position %d",
    async (position) => {
      await using open = await openSession({ model: scriptedModel([]) });
      await expect(open.session.at(position)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    },
  );

  it("is refused when there is no such session, and none is made", async () => {
    await using log = await openMemoryLog();
    const missing = viewSession(log, "nobody");
    await expect(missing).rejects.toMatchObject({ code: "SESSION_NOT_FOUND", session: "nobody" });
    expect(await Array.fromAsync(log.list())).toEqual([]);
  });
});

describe("two positions of a session", () => {
  it("are told apart by what the model is shown there, in either order", async () => {
    const model = scriptedModel(script);
    await using open = await openSession({ model, tools: { echo } });
    await (
      await open.session.send("Go.")
    ).result;
    const steps = (await open.events()).filter(({ type }) => type === "step.started");
    const [first = 0, second = 0] = steps.map(({ position }) => position);
    const forwards = await open.session.diff(first, second);
    expect(forwards).toMatchObject({ session: "s", before: first, after: second });
    expect(forwards.changes.map(({ kind, index }) => [kind, index])).toEqual([
      ["added", 1],
      ["added", 2],
    ]);
    const backwards = await open.session.diff(second, first);
    expect(backwards.changes.map(({ kind, index }) => [kind, index])).toEqual([
      ["removed", 1],
      ["removed", 2],
    ]);
  });

  it.each([
    [0, 1],
    [1, 99],
  ])("are refused when there is no position: %d, %d", async (before, after) => {
    await using open = await openSession({ model: scriptedModel([]) });
    const refused = open.session.diff(before, after);
    await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

it("events come from any position on, the past and then live, without a gap", async () => {
  const hold = gate();
  await using open = await openSession({ model: scriptedModel([saying("One ", hold, "two.")]) });
  const turn = await open.session.send("Go.");
  await hold.reached;
  const stop = new AbortController();
  const follow = async (from: number): Promise<readonly number[]> => {
    const seen: number[] = [];
    for await (const { position, type } of open.session.events({ from, signal: stop.signal })) {
      seen.push(position);
      if (type === "turn.ended") break;
    }
    return seen;
  };
  const following = Promise.all([follow(1), follow(4), follow(8)]);
  hold.open();
  await turn.result;
  const length = (await open.events()).length;
  const upTo = (from: number): readonly number[] =>
    Array.from({ length: length - from + 1 }, (_, index) => from + index);
  expect(await following).toEqual([upTo(1), upTo(4), upTo(8)]);
});

describe("the list of sessions", () => {
  it("says of each what a person needs to find it, and reads no events of those that rest", async () => {
    await using log = await openMemoryLog();
    const agent = { model: scriptedModel(() => "Done.") };
    const runtime = await createRuntime({ log, agent });
    for (const name of ["b", "a"]) {
      const session = await runtime.session(name);
      await (
        await session.send(`  About\n${name} `)
      ).result;
      await (
        await session.send("And more.")
      ).result;
    }
    await runtime.close();
    const reads: (ReadRange | undefined)[] = [];
    const watched = wrapLog(log, {
      read: (session, range) => {
        reads.push(range);
        return log.read(session, range);
      },
    });
    const listed = await Array.fromAsync(listSessions(watched));
    expect(reads).toEqual([]);
    expect(listed).toMatchObject([
      {
        session: "a",
        title: "About a",
        status: "idle",
        turns: 2,
        steps: 2,
        messages: 2,
        lastEnd: "stop",
      },
      {
        session: "b",
        title: "About b",
        status: "idle",
        turns: 2,
        steps: 2,
        messages: 2,
        lastEnd: "stop",
      },
    ]);
    for (const { session, revision, createdAt, updatedAt, ...summary } of listed) {
      const view = await viewSession(log, session);
      expect(summary).toEqual(view.summary);
      expect(revision).toBe(view.position);
      expect(createdAt).toBeLessThanOrEqual(updatedAt);
    }
  });

  it("knows of a session that is running what its log says so far", async () => {
    const hold = gate();
    const model = scriptedModel(["Done.", saying("One ", hold)]);
    await using open = await openSession({ model });
    await (
      await open.session.send("Go.")
    ).result;
    await open.session.send("Go on.");
    await hold.reached;
    const listed = await Array.fromAsync(open.runtime.sessions());
    expect(listed).toMatchObject([{ session: "s", status: "running", turns: 2, messages: 2 }]);
  });

  it("is right also without any stored summary", async () => {
    await using open = await openSession({ model: scriptedModel(["Done."]) });
    await (
      await open.session.send("Go.")
    ).result;
    const bare = wrapLog(open.log, { loadSnapshot: () => Promise.resolve(undefined) });
    const { summary } = await open.session.view();
    expect(await Array.fromAsync(listSessions(bare))).toMatchObject([summary]);
  });
});

it.each(["", "a\nb", "ä", "-a", "a".repeat(513), "a b"])(
  "a session is refused the name %j",
  async (name) => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
    await expect(runtime.session(name)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await Array.fromAsync(log.list())).toEqual([]);
  },
);

it("a session without a name is given a new one", async () => {
  await using runtime = await createRuntime({ memory: true, agent: { model: scriptedModel([]) } });
  const [one, other] = [await runtime.session(), await runtime.session()];
  expect(one.id).not.toBe(other.id);
  expect(
    (await Array.fromAsync(runtime.sessions())).map(({ session }) => session).toSorted(),
  ).toEqual([one.id, other.id].toSorted());
});
