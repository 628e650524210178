/** Forks of live sessions: what they share, what they change, what becomes of what was running. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { beforeLastTurn } from "../../src/projections/index.ts";
import {
  callIdentity,
  openMemoryLog,
  verifySession,
  viewSession,
  type CallIdentity,
  type EventLog,
  type Session,
} from "../../src/index.ts";
import { stateAt as stateIn, viewOf } from "../../src/runtime/session-view.ts";
import { gate, scriptedModel } from "../../src/testing/index.ts";
import { partsOf } from "../laws/session-digests.ts";
import { lawProblems } from "../support/law-problems.ts";
import { watchLiveStates } from "../support/live-states.ts";
import { replayLog, stateAt, storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { wrapLog } from "../support/wrapped-log.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

async function ask(session: Session, text: string, id?: string): Promise<string> {
  const turn = await session.send(text, id === undefined ? {} : { id });
  return (await turn.result).text;
}

async function typesBehind({ log }: OpenSession, session: string, position: number) {
  return (await Array.fromAsync(log.read(session, { from: position + 1 }))).map(({ type }) => type);
}

describe("a fork at the end", () => {
  it("shares what was said, and each of the two goes on without the other", async () => {
    const model = scriptedModel(["One.", "Two here.", "Two there."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    const { position } = await open.session.view();
    const fork = await open.session.fork({ id: "f" });
    expect(fork.id).toBe("f");
    expect(await ask(open.session, "Here?")).toBe("Two here.");
    expect(await ask(fork, "There?")).toBe("Two there.");
    const prompts = model.calls.map(({ prompt }) => JSON.stringify(prompt));
    expect(prompts[2]).toContain("First?");
    expect(prompts[2]).toContain("One.");
    expect(prompts[2]).not.toContain("Here?");
    expect(prompts[1]).not.toContain("There?");
    expect((await storedEvents(open.log, "f")).slice(0, position)).toEqual(
      (await open.events()).slice(0, position),
    );
    const [forked] = await typesBehind(open, "f", position);
    expect(forked).toBe("session.forked");
    expect((await fork.view()).summary).toMatchObject({
      forkedFrom: { session: "s", position },
      turns: 2,
    });
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it("holds live, at each position of its own, the state that a fold of its log gives", async () => {
    using watched = watchLiveStates();
    const model = scriptedModel(["One.", saying("a", "b", "c"), "Three."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    const fork = await open.session.fork({ id: "f" });
    await ask(fork, "Second?");
    const again = await fork.fork({ id: "g" });
    await ask(again, "Third?");
    for (const session of ["f", "g"]) {
      const folded = await replayLog(open.log, session);
      const live = watched.seen(session);
      expect(live.length).toBeGreaterThan(5);
      for (const state of live) {
        expect(partsOf(state)).toStrictEqual(partsOf(stateAt(folded, state.position)));
      }
      // From a snapshot of either session, or without one.
      for (const { seq } of folded.events) {
        const read = await stateIn(open.log, session, seq);
        expect(partsOf(read)).toStrictEqual(partsOf(stateAt(folded, seq)));
      }
    }
  });

  it("of a session that is closed goes on from before that", async () => {
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    await open.session.close();
    const { position } = await open.session.view();
    await expect(open.session.fork({ at: position })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      position,
    });
    expect(await ask(await open.session.fork(), "Second?")).toBe("Two.");
  });

  it("is refused under a name that is taken, and at a position that there is not", async () => {
    await using open = await openSession({ model: scriptedModel([]) });
    await expect(open.session.fork({ id: "s" })).rejects.toMatchObject({
      code: "REVISION_CONFLICT",
      session: "s",
    });
    for (const at of [0, 2, 1.5])
      await expect(open.session.fork({ at })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(open.session.fork({ edit: "No." })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    await expect(open.session.fork({ id: "f", edit: " " })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect((await Array.fromAsync(open.log.list())).map(({ session }) => session)).toEqual(["s"]);
  });

  it("is listed with where it branched off, and is the same after a restart", async () => {
    await using first = await openSession({ model: scriptedModel(["One."]) });
    await ask(first.session, "First?");
    const fork = await first.session.fork({ id: "f" });
    const before = await fork.view();
    await using second = await reopen(first, { model: scriptedModel(["Two."]) });
    const again = await second.runtime.session("f");
    expect((await again.view()).position).toBe(before.position);
    const listed = await Array.fromAsync(second.runtime.sessions());
    expect(listed.map(({ session, title, forkedFrom }) => [session, title, forkedFrom])).toEqual([
      ["f", "First?", { session: "s", position: before.position - 1 }],
      ["s", "First?", undefined],
    ]);
    expect(await ask(again, "Second?")).toBe("Two.");
  });

  it("within what a fork shares is a fork of the session that wrote it", async () => {
    await using open = await openSession({ model: scriptedModel(["One.", "Two."]) });
    await ask(open.session, "First?");
    const fork = await open.session.fork({ id: "f" });
    await ask(fork, "Second?");
    const inner = await fork.fork({ id: "g", at: 3 });
    expect((await inner.view()).summary.forkedFrom).toEqual({ session: "s", position: 3 });
  });
});

describe("a fork of a long session", () => {
  /** How many events are read of each session, on a log that counts. */
  async function counted(): Promise<{ readonly log: EventLog; readonly reads: () => number }> {
    const log = await openMemoryLog();
    let count = 0;
    const counting = wrapLog(log, {
      async *read(...read) {
        for await (const event of log.read(...read)) {
          count += 1;
          yield event;
        }
      },
    });
    return {
      log: counting,
      reads: () => {
        const read = count;
        count = 0;
        return read;
      },
    };
  }

  const long = saying(...Array.from({ length: 2500 }, (_, index) => `${index} `));

  it("starts from the other session's snapshot, and keeps on its own only what is new", async () => {
    const { log, reads } = await counted();
    const model = scriptedModel([long, "Two.", long, "Four."]);
    await using first = await openSession({ model }, { log });
    await ask(first.session, "Count.");
    await first.runtime.close();
    const { position } = await viewSession(log, "s");
    await using second = await openSession({ model }, { log });
    reads();
    const fork = await second.session.fork({ id: "f" });
    await fork.view();
    expect(reads()).toBeLessThan(50);
    await Array.fromAsync(second.runtime.sessions());
    expect(reads()).toBeLessThan(50);
    await ask(fork, "And?");
    await ask(fork, "Count on.");
    await second.runtime.close();
    const kept = await log.loadSnapshot("f", "session");
    expect(kept?.position).toBeGreaterThan(position + 2000);
    reads();
    const opened = await viewSession(log, "f");
    expect(reads()).toBeLessThan(50);
    expect(opened).toStrictEqual(viewOf("f", (await replayLog(log, "f")).last));
  });

  it("starts from the last snapshot before its position, however many came later, and in forks of it too", async () => {
    const { log, reads } = await counted();
    const model = scriptedModel((_, index) => (index < 4 ? long : "Short."));
    await using open = await openSession({ model }, { log });
    const ends: number[] = [];
    for (let turn = 1; turn <= 4; turn++) {
      await ask(open.session, "Count.");
      ends.push((await open.session.view()).position);
    }
    const [, second = 0] = ends;
    reads();
    const fork = await open.session.fork({ id: "f", at: second });
    const view = await fork.view();
    expect(reads()).toBeLessThan(2600);
    expect(view).toStrictEqual(viewOf("f", (await replayLog(log, "f")).last));
    reads();
    const inner = await fork.fork({ id: "g", at: second - 1 });
    await inner.view();
    expect(reads()).toBeLessThan(2600);
    await ask(inner, "And?");
    for (const id of ["s", "f", "g"])
      expect((await verifySession(log, id, { every: 500 })).problems).toEqual([]);
  });

  it("does not use a snapshot of what came after the position", async () => {
    const { log } = await counted();
    const model = scriptedModel(["One.", long]);
    await using open = await openSession({ model }, { log });
    await ask(open.session, "One?");
    const { position } = await open.session.view();
    await ask(open.session, "Count.");
    const fork = await open.session.fork({ id: "f", at: position });
    expect(await fork.view()).toStrictEqual(viewOf("f", (await replayLog(log, "f")).last));
    expect((await verifySession(log, "f", { every: 1 })).problems).toEqual([]);
  });
});

describe("a fork in the middle of a turn", () => {
  it("keeps what the model had said by then as interrupted, while the turn itself goes on", async () => {
    const pause = gate();
    const model = scriptedModel([saying("half ", pause, "and half"), "Sorry."]);
    await using open = await openSession({ model });
    const turn = await open.session.send("Say it.");
    await pause.reached;
    const { seq } = await seen(open.session, "part.text-delta");
    const fork = await open.session.fork({ id: "f", at: seq });
    expect(await typesBehind(open, "f", seq)).toEqual([
      "session.forked",
      "session.recovered",
      "step.interrupted",
      "turn.ended",
    ]);
    expect((await fork.view()).history.at(-2)).toMatchObject({
      status: "interrupted",
      parts: [{ text: "half " }],
    });
    pause.open();
    expect((await turn.result).text).toBe("half and half");
    expect(await ask(fork, "And?")).toBe("Sorry.");
    expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain("and half");
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it("recovers as a process does that died right there, at every position", async () => {
    const tools = {
      look: tool({ inputSchema: z.object({}), execute: () => "seen" }),
    };
    const script = [calling(call("look", "1"), call("look", "2")), "Done."];
    await using open = await openSession({ model: scriptedModel(script), tools });
    await ask(open.session, "Look.");
    const events = await open.events();
    for (const { seq } of events) {
      const fork = await open.session.fork({ id: `f-${seq}`, at: seq });
      await fork.idle();
      await open.log.append(`died-${seq}`, "none", events.slice(0, seq));
      const died = await open.runtime.session(`died-${seq}`);
      await died.idle();
      const own = await Array.fromAsync(open.log.read(fork.id, { from: seq + 1 }));
      const recovered = await Array.fromAsync(open.log.read(died.id, { from: seq + 1 }));
      const told = ({ type, data }: (typeof own)[number]) => ({ type, data });
      expect(own.slice(1).map(told)).toEqual(recovered.map(told));
      expect(lawProblems(await storedEvents(open.log, fork.id))).toEqual([]);
    }
  });

  it("knows nothing of what calls answered later, and runs idempotent ones again with the same effect id", async () => {
    const calls: CallIdentity[] = [];
    const pay = tool({
      inputSchema: z.object({}),
      execute: (_, options) => {
        calls.push(callIdentity(options));
        return "paid";
      },
    });
    const agent = {
      model: scriptedModel([calling(call("pay", "1")), "Paid.", "Paid too.", "And that.", "All."]),
      tools: { pay },
      toolPolicies: { pay: { idempotent: true } },
    };
    await using open = await openSession(agent, { recovery: "continue" });
    await ask(open.session, "Pay.");
    const called = (await seen(open.session, "part.tool-call")).seq;
    const started = (await seen(open.session, "tool.started")).seq;
    const finished = (await seen(open.session, "step.finished")).seq;
    expect(started).toBeGreaterThan(finished);
    // Started; asked for and not started; and the latter in a fork of a fork.
    const after = await open.session.fork({ id: "after", at: started });
    await after.idle();
    const before = await open.session.fork({ id: "before", at: finished });
    await before.idle();
    const inner = await before.fork({ id: "inner", at: finished });
    await inner.idle();
    expect(called).toBeLessThan(finished);
    expect(calls.map(({ session, attempt, effectId }) => [session, attempt, effectId])).toEqual([
      ["s", 1, "s/1/1"],
      ["after", 2, "s/1/1"],
      ["before", 1, "s/1/1"],
      ["inner", 1, "s/1/1"],
    ]);
    for (const id of ["after", "before", "inner"])
      expect(lawProblems(await storedEvents(open.log, id))).toEqual([]);
  });

  it("gives calls of its own effect ids of its own, though their step and id are those of the other session", async () => {
    const calls: string[] = [];
    const pay = tool({
      inputSchema: z.object({}),
      execute: (_, options) => {
        calls.push(callIdentity(options).effectId);
        return "paid";
      },
    });
    const one = calling(call("pay", "1"));
    const model = scriptedModel(["Hello.", one, "Paid.", one, "Paid."]);
    await using open = await openSession({ model, tools: { pay } });
    await ask(open.session, "Hello.");
    const fork = await open.session.fork({ id: "f" });
    await ask(open.session, "Pay.");
    await ask(fork, "Pay.");
    expect(calls).toEqual(["s/2/1", "f/2/1"]);
  });
});

describe("a fork that changes something", () => {
  it("is run with another model, other instructions and other tools, and so are forks of it", async () => {
    const model = scriptedModel(["One."]);
    await using open = await openSession({ model, instructions: "Be kind." });
    await ask(open.session, "First?");
    const other = {
      ...scriptedModel([calling(call("look", "1")), "Two.", "Three."]),
      modelId: "o",
    };
    const tools = { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) };
    const fork = await open.session.fork({
      id: "f",
      model: other,
      instructions: "Be brief.",
      tools,
    });
    expect(await ask(fork, "Second?")).toBe("Two.");
    expect(JSON.stringify(other.calls[0]?.prompt)).toContain("Be brief.");
    expect(other.calls[0]?.tools?.map(({ name }) => name)).toEqual(["look"]);
    const inner = await fork.fork({ id: "g" });
    expect(await ask(inner, "Third?")).toBe("Three.");
    const [forked] = (await storedEvents(open.log, "f")).filter(
      ({ type }) => type === "session.forked",
    );
    expect(forked?.data).toMatchObject({ agent: { model: { modelId: "o" }, tools: ["look"] } });
    expect((await storedEvents(open.log, "f")).map(({ type }) => type)).not.toContain(
      "session.configured",
    );
    expect(model.calls).toHaveLength(1);
    for (const id of ["f", "g"]) expect(lawProblems(await storedEvents(open.log, id))).toEqual([]);
    const diff = await fork.diff(1, (await fork.view()).position);
    expect(diff.agentChanged).toBe(true);
  });

  it("is run by the agent of the next process, which is recorded", async () => {
    await using first = await openSession({ model: scriptedModel(["One."]) });
    await ask(first.session, "First?");
    await first.session.fork({ id: "f", instructions: "Be brief." });
    const { position } = await (await first.runtime.session("f")).view();
    await using second = await reopen(first, { model: scriptedModel([]) });
    // Looking at it waits for what was recorded.
    await (await second.runtime.session("f")).view();
    expect(await typesBehind(second, "f", position)).toEqual(["session.configured"]);
  });

  it("says the last message in another way, and leaves the turn before it as it was", async () => {
    const model = scriptedModel(["One.", "Two.", "Another two."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    const { position } = await open.session.view();
    await ask(open.session, "Secnd?");
    const fork = await open.session.fork({ id: "f", edit: "Second?" });
    await fork.idle();
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Second?");
    expect(prompt).not.toContain("Secnd?");
    expect(prompt).toContain("One.");
    const types = await typesBehind(open, "f", position);
    expect(types.slice(0, 4)).toEqual([
      "session.forked",
      "message.queued",
      "turn.started",
      "message.delivered",
    ]);
    // Up to an earlier position, the last message is an earlier one.
    const earlier = await open.session.fork({ at: position, edit: "Zeroth?" });
    expect((await earlier.view()).summary.title).toBe("Zeroth?");
    await earlier.cancel();
  });

  it("takes an edited message back where it already waited in the turn before", async () => {
    const pause = gate();
    const model = scriptedModel([saying("o", pause, "ne"), "Two.", "Another two."]);
    await using open = await openSession({ model });
    await open.session.send("First?");
    await pause.reached;
    await open.session.send("Secnd?", { id: "m2" });
    pause.open();
    await open.session.idle();
    const ended = await seen(open.session, "turn.ended");
    const fork = await open.session.fork({ id: "f", edit: "Second?" });
    await fork.idle();
    const own = await Array.fromAsync(open.log.read("f", { from: ended.seq + 1 }));
    expect(own.slice(0, 2)).toMatchObject([
      { type: "session.forked", data: { from: { session: "s", position: ended.seq } } },
      { type: "message.withdrawn", data: { ids: ["m2"] } },
    ]);
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Second?");
    expect(prompt).not.toContain("Secnd?");
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it("edits a message that steered a turn in the middle of that turn", async () => {
    const pause = gate();
    const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
    const model = scriptedModel([
      { parts: [{ type: "text", deltas: ["well", pause] }, call("look", "1")] },
      "Left.",
      "Right.",
    ]);
    await using open = await openSession({ model, tools: { look } });
    const turn = await open.session.send("Look.");
    await pause.reached;
    await open.session.send("Left!", { delivery: "steer" });
    pause.open();
    await turn.result;
    const fork = await open.session.fork({ id: "f", edit: "Right!" });
    await fork.idle();
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Right!");
    expect(prompt).not.toContain("Left!");
    expect(prompt).toContain("seen");
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });
});

describe("the way back before the last turn", () => {
  it("is where a fork has neither the turn nor its messages", async () => {
    const model = scriptedModel(["One.", "Two.", "Three."]);
    await using open = await openSession({ model });
    expect(beforeLastTurn(await stateIn(open.log, "s"))).toBeUndefined();
    await ask(open.session, "First?");
    const { position } = await open.session.view();
    await ask(open.session, "Second?");
    const point = beforeLastTurn(await stateIn(open.log, "s"));
    expect(point).toMatchObject({ position, waiting: [], messages: [{ content: "Second?" }] });
    const fork = await open.session.fork({ at: position });
    expect(await ask(fork, "Third?")).toBe("Three.");
    expect(JSON.stringify(model.calls[2]?.prompt)).not.toContain("Second?");
    // Nothing is before the first turn but the session itself.
    const first = beforeLastTurn(await stateIn(open.log, "s", position));
    expect(first).toMatchObject({ position: 1, messages: [{ content: "First?" }] });
  });
});
