/** What a program notes about its sessions: recorded, inherited, and never in the way of the session. */

import { describe, expect, it } from "vitest";
import { createRuntime, memoryKeys, openMemoryLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { ask } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { saying } from "../support/script.ts";

const agent = { model: scriptedModel(() => "Fine.") };
const metadata = { userId: "u-1", tags: ["new"] };

describe("the metadata of a session", () => {
  it("are recorded when it is created, and are there in the next process", async () => {
    await using log = await openMemoryLog();
    await using first = await createRuntime({ log, agent });
    await ask(await first.session("s", { metadata }), "Hello.");
    await first.close();
    await using second = await createRuntime({ log, agent });
    expect((await (await second.session("s")).view()).summary.metadata).toEqual(metadata);
    expect(await Array.fromAsync(second.sessions())).toMatchObject([{ session: "s", metadata }]);
  });

  it("are replaced between turns and during one, are inherited by forks, and no rewind changes them", async () => {
    const held = gate();
    const model = scriptedModel(["One.", saying("T", held, "wo.")]);
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const session = await runtime.session("s", { metadata });
    await ask(session, "First?");
    const turn = await session.send("Second?");
    await session.setMetadata({ userId: "u-1", topic: "refund" });
    await session.setMetadata({ topic: "refund", userId: "u-1" });
    held.open();
    await turn.result;
    const fork = await session.fork({ id: "f" });
    await session.rewind({ beforeTurn: 1 });
    for (const one of [session, fork])
      expect((await one.view()).summary.metadata).toEqual({ userId: "u-1", topic: "refund" });
    const events = await storedEvents(runtime.log, "s");
    expect(events.filter(({ type }) => type === "session.metadata-set")).toHaveLength(1);
    expect(lawProblems(events)).toEqual([]);
    const { difference } = await replay(events, { model });
    expect(difference).toBeUndefined();
  });

  it("tell sessions apart: one with other values is not opened", async () => {
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("s", { metadata });
    await session.setMetadata({ ...metadata, topic: "refund" });
    await runtime.session("s", { metadata: { userId: "u-1" } });
    await expect(runtime.session("s", { metadata: { userId: "u-2" } })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
      session: "s",
      details: { option: "metadata.userId" },
    });
    await runtime.session("plain");
    await expect(runtime.session("plain", { metadata })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
  });

  it("are the program's copy no more once they are handed over", async () => {
    await using runtime = await createRuntime({ memory: true, agent });
    const own = { tags: ["new"] };
    const opening = runtime.session("s", { metadata: own });
    own.tags.push("changed");
    const session = await opening;
    const setting = session.setMetadata(own);
    own.tags.push("again");
    await setting;
    const sets = (await storedEvents(runtime.log, "s")).map(({ data }) => data);
    expect(sets).toMatchObject([
      { metadata: { tags: ["new"] } },
      { metadata: { tags: ["new", "changed"] } },
    ]);
  });

  it.each([
    ["no JSON", { at: new Date(0) }],
    ["a number that JSON does not have", { n: Number.NaN }],
    ["a list", ["a"]],
    ["more than 16 KiB", { text: "x".repeat(16_400) }],
  ])("are refused as %s, and nothing is created", async (_, wrong) => {
    await using runtime = await createRuntime({ memory: true, agent });
    const given = wrong as unknown as typeof metadata;
    await expect(runtime.session("s", { metadata: given })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      details: { option: "options.metadata" },
    });
    expect(await Array.fromAsync(runtime.sessions())).toEqual([]);
    const session = await runtime.session("t");
    await expect(session.setMetadata(given)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("say what is wrong with an object that is too large", async () => {
    await using runtime = await createRuntime({ memory: true, agent });
    await expect(runtime.session("s", { metadata: { text: "x".repeat(1e6) } })).rejects.toThrow(
      "`options.metadata` must be an object of JSON values, at most 16 KiB; this one is not.",
    );
  });

  it("are encrypted with the rest, and gone when they are redacted", async () => {
    await using log = await openMemoryLog();
    const keys = memoryKeys();
    await using runtime = await createRuntime({ log, agent, encryption: { keys } });
    const session = await runtime.session("s", { metadata });
    await session.setMetadata({ userId: "u-2" });
    expect(JSON.stringify(await Array.fromAsync(log.read("s")))).not.toMatch(/"u-1|"u-2/);
    await session.redact([1, 2]);
    expect((await (await runtime.session("s")).view()).summary.metadata).toEqual({});
    expect(await ask(await runtime.session("s"), "Hello?")).toBe("Fine.");
  });

  it("are what a function that gives the agent reads", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: ({ metadata: { plan = "free" } }) => ({
        model: scriptedModel(() => `By the plan ${JSON.stringify(plan)}.`),
      }),
    });
    const session = await runtime.session("s", { metadata: { plan: "pro" } });
    expect(await ask(session, "Hello?")).toBe('By the plan "pro".');
    expect(await ask(await session.fork(), "Hello?")).toBe('By the plan "pro".');
    expect(await ask(await runtime.session("t"), "Hello?")).toBe('By the plan "free".');
  });
});
