/** What a list of conversations shows of each: its title, how it ended, and what a person has not seen. */

import { expect, it } from "vitest";
import { createRuntime, memoryKeys, openMemoryLog, type Runtime } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { storedEvents } from "../support/replay.ts";
import { ask } from "../support/asking.ts";
import { saying } from "../support/script.ts";

async function rowOf(runtime: Runtime): Promise<object | undefined> {
  const [row] = await Array.fromAsync(runtime.sessions({ empty: false }));
  return row;
}

it("has the title that was set, before and after the first message, over a rewind and in a fork", async () => {
  const encryption = { keys: memoryKeys() };
  const agent = { model: scriptedModel(() => "Hello.") };
  await using runtime = await createRuntime({ memory: true, agent, encryption });
  const session = await runtime.session("s");
  await session.setTitle("A refund", { by: "ann" });
  await ask(session, "Where is my money?");
  expect(await rowOf(runtime)).toMatchObject({ title: "A refund", lastEnd: "stop" });
  await session.setTitle("Two refunds");
  await session.setTitle("Two refunds");
  await session.rewind({ beforeTurn: 1 });
  expect(await rowOf(runtime)).toMatchObject({ title: "Two refunds" });
  const fork = await session.fork({ id: "f" });
  expect((await fork.view()).summary.title).toBe("Two refunds");
  const types = (await storedEvents(runtime.log, "s")).map(({ type }) => type);
  expect(types.filter((type) => type === "session.titled")).toHaveLength(2);
  for (const title of ["", "x".repeat(257)])
    await expect(session.setTitle(title)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  await session.close();
  await expect(session.setTitle("x")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
});

it("knows what each person has seen, once for each turn that has ended", async () => {
  await using log = await openMemoryLog();
  const held = gate();
  const model = scriptedModel(["One.", saying("Two ", held), "Three."]);
  await using runtime = await createRuntime({ log, agent: { model } });
  const session = await runtime.session("s");
  await session.markSeen({ by: "ann" });
  expect(await log.revision("s")).toBe(1);
  await ask(session, "1");
  for (const by of ["ann", "bob", "ann", "__proto__"]) await session.markSeen({ by });
  const turn = await session.send("2");
  await held.reached;
  await session.markSeen({ by: "ann" });
  expect(await rowOf(runtime)).toMatchObject({ turns: 2, seen: { ann: 1, bob: 1 } });
  held.open();
  await turn.result;
  await session.markSeen({ by: "ann" });
  expect(await rowOf(runtime)).toMatchObject({ turns: 2, seen: { ann: 2, bob: 1 } });
  const seen = (await storedEvents(log, "s")).filter(({ type }) => type === "session.seen");
  expect(seen).toHaveLength(4);
  await expect(session.markSeen({})).rejects.toMatchObject({ code: "INVALID_INPUT" });
});
