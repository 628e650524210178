/** Forks in the middle of a turn: what becomes in them of what was running. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callIdentity } from "../../src/public/index.ts";
import type { CallIdentity } from "../../src/runtime/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { ask, typesBehind } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession } from "../support/with-runtime.ts";

describe("a fork in the middle of a turn", () => {
  it("keeps what the model had said by then as interrupted, while the turn itself continues", async () => {
    const pause = gate();
    const model = scriptedModel([saying("half ", pause, "and half"), "Sorry."]);
    await using open = await openSession({ model });
    const turn = await open.session.send("Say it.");
    await pause.reached;
    const { position } = await seen(open.session, "part.text-delta");
    const fork = await open.session.fork({ id: "f", position: position });
    expect(await typesBehind(open, "f", position)).toEqual([
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
    for (const { position } of events) {
      const fork = await open.session.fork({ id: `f-${position}`, position: position });
      await fork.idle();
      await open.log.append(`died-${position}`, "none", events.slice(0, position));
      const died = await open.runtime.session(`died-${position}`);
      await died.idle();
      const own = await Array.fromAsync(open.log.read(fork.id, { from: position + 1 }));
      const recovered = await Array.fromAsync(open.log.read(died.id, { from: position + 1 }));
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
    const called = (await seen(open.session, "part.tool-call")).position;
    const started = (await seen(open.session, "tool.started")).position;
    const finished = (await seen(open.session, "step.finished")).position;
    expect(started).toBeGreaterThan(finished);
    // Started; asked for and not started; and the latter in a fork of a fork.
    const after = await open.session.fork({ id: "after", position: started });
    await after.idle();
    const before = await open.session.fork({ id: "before", position: finished });
    await before.idle();
    const inner = await before.fork({ id: "inner", position: finished });
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

  it("gives its calls other effect ids than calls with the same step and id of the other session", async () => {
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
