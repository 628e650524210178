/** Circuit breakers: a dead provider costs the next turns nothing, one step probes it, and its state is shown. */

import { expect, it } from "vitest";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { Circuits } from "../../src/runtime/model/failover.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { modelOf, refusal } from "../support/failing-models.ts";

const dead = (): { failure: Error } => ({ failure: refusal(503) });

async function opened(agent: Agent, clock: () => number, circuitBreaker: false | object = {}) {
  const log = await openMemoryLog();
  const runtime = await createRuntime({
    log,
    agent,
    circuitBreaker,
    testing: { clock, timer: impatientTimer },
  });
  return {
    runtime,
    ask: async (session: string) => {
      const turn = await (await runtime.session(session)).send("Go.");
      return (await turn.result).model?.provider;
    },
    moves: async (session: string) =>
      (await Array.fromAsync(log.read(session))).flatMap((event) =>
        event.type === "step.failed-over" ? [event.data] : [],
      ),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await log.close();
    },
  };
}

it("after three failures for good, steps of all sessions go past the model at once; then one probes it", async () => {
  let now = 1_000_000;
  let isDead = true;
  const first = modelOf("one", () => (isDead ? dead() : "Back."));
  const second = modelOf("two", () => "Here.");
  await using open = await opened({ model: first, fallback: [second] }, () => now);
  for (const session of ["a", "b", "c"]) expect(await open.ask(session)).toBe("two");
  expect(first.calls).toHaveLength(6);
  expect(open.runtime.circuits()).toEqual([
    { provider: "one", state: "open", failures: 3, kind: "overloaded", since: now },
  ]);
  expect(await open.ask("d")).toBe("two");
  expect(first.calls).toHaveLength(6);
  expect(await open.moves("d")).toEqual([
    {
      step: 1,
      from: { provider: "one", modelId: "m" },
      to: { provider: "two", modelId: "m" },
      why: "circuit-open",
    },
  ]);
  now += 30_000;
  expect(open.runtime.circuits()).toMatchObject([{ state: "half-open" }]);
  // Two at once: only one of them probes.
  expect(await Promise.all([open.ask("e"), open.ask("f")])).toEqual(["two", "two"]);
  expect(first.calls).toHaveLength(8);
  now += 30_000;
  isDead = false;
  expect(await open.ask("g")).toBe("one");
  expect(open.runtime.circuits()).toEqual([]);
  expect(await open.ask("h")).toBe("one");
});

it("without breakers every turn tries its first model; without another model it is called all the same", async () => {
  const first = modelOf("one", dead);
  await using open = await opened(
    { model: first, fallback: [modelOf("two", () => "Here.")] },
    () => 1,
    false,
  );
  for (const session of ["a", "b", "c", "d"]) await open.ask(session);
  expect(first.calls).toHaveLength(8);
  expect(open.runtime.circuits()).toEqual([]);
  const alone = modelOf("one", dead);
  await using only = await opened({ model: alone, maxRetries: 0 }, () => 1);
  for (const session of ["a", "b", "c", "d"])
    await expect(only.ask(session)).rejects.toMatchObject({ code: "TURN_FAILED" });
  expect(alone.calls).toHaveLength(4);
});

it("a wrong key opens the circuit of its own model alone; a missing model that of its name", () => {
  const circuits = new Circuits({ failures: 1 }, () => 1);
  const same = (): ScriptedModel => ({ ...scriptedModel([]), provider: "one", modelId: "m" });
  const [mine, yours] = [same(), same()];
  circuits.ended(mine, "authentication");
  expect([mine, yours].map((one) => circuits.openFor(one))).toEqual(["authentication", undefined]);
  circuits.ended(mine);
  circuits.ended(mine, "not-a-model");
  expect(circuits.openFor(yours)).toBe("not-a-model");
  expect(circuits.openFor({ ...yours, modelId: "other" })).toBeUndefined();
  circuits.ended(yours, "invalid-request");
  expect(circuits.list()).toHaveLength(1);
  circuits.ended(yours);
  expect(circuits.list()).toEqual([]);
});

it("the circuits of models that nobody uses any more are forgotten", () => {
  let now = 0;
  const circuits = new Circuits({ probeAfterMs: 10 }, () => now);
  for (let tenant = 0; tenant < 1000; tenant++, now += 60_000)
    circuits.ended(scriptedModel([]), "authentication");
  expect(circuits.list().length).toBeLessThan(70);
});
