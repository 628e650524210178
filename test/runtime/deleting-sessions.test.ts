/** Deleting old sessions: those of the query and no others, and none that somebody still needs. */

import { tool } from "ai";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  type Agent,
  type Runtime,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";

const pay = tool({ inputSchema: z.object({}), execute: () => 1 });

async function opened(): Promise<{ runtime: Runtime; set: (time: number) => void }> {
  let now = 1000;
  const model = scriptedModel(({ prompt }) =>
    JSON.stringify(prompt).includes("Pay") ? calling(call("pay", "1")) : "Fine.",
  );
  const runtime = await createRuntime({
    log: await openMemoryLog(),
    agent: { model, tools: { pay }, toolApproval: { pay: "user-approval" } },
    testing: { clock: () => now },
  });
  return {
    runtime,
    set: (time) => {
      now = time;
    },
  };
}

async function left(runtime: Runtime): Promise<readonly string[]> {
  return (await Array.fromAsync(runtime.sessions())).map(({ session }) => session);
}

it("deletes what is older and has the metadata, and tells it first", async () => {
  const { runtime, set } = await opened();
  await using _ = runtime;
  for (const [id, userId, time] of [
    ["old-a", "a", 1000],
    ["old-b", "b", 1000],
    ["new-a", "a", 9000],
  ] as const) {
    set(time);
    await ask(await runtime.session(id, { metadata: { userId } }), "Hello.");
  }
  const query = { olderThan: new Date(5000), where: { userId: "a" } };
  const would = await runtime.deleteSessions({ ...query, dryRun: true });
  expect(would).toMatchObject({ dryRun: true, deleted: [{ session: "old-a" }], kept: [] });
  expect(await left(runtime)).toEqual(["new-a", "old-a", "old-b"]);
  const done = await runtime.deleteSessions(query);
  expect(done).toEqual({ ...would, dryRun: false });
  expect(await left(runtime)).toEqual(["new-a", "old-b"]);
  await expect(runtime.deleteSessions({})).rejects.toMatchObject({ code: "INVALID_INPUT" });
  expect(await left(runtime)).toEqual(["new-a", "old-b"]);
});

it("keeps sessions in a turn and those in which messages wait, and says why", async () => {
  const { runtime, set } = await opened();
  await using _ = runtime;
  await (await runtime.session("asks")).send("Pay.");
  await (await runtime.session("asks")).atRest();
  await (await runtime.session("later")).send("Later.", { notBefore: new Date(1e6) });
  await ask(await runtime.session("rests"), "Hello.");
  set(5000);
  const { deleted, kept } = await runtime.deleteSessions({ olderThan: new Date(4000) });
  expect(deleted.map(({ session }) => session)).toEqual(["rests"]);
  expect(kept).toMatchObject([
    { session: "asks", error: { code: "COMMAND_REFUSED" } },
    { session: "later", error: { code: "COMMAND_REFUSED" } },
  ]);
  expect(await left(runtime)).toEqual(["asks", "later"]);
});

it("deletes whole families, and keeps what a fork that stays shares", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat({ max: 6 }), fc.boolean()), { minLength: 1, maxLength: 7 }),
      fc.constantFrom("refuse", "copy"),
      async (family, forks) => {
        const { runtime } = await opened();
        await using _ = runtime;
        const parents: (number | undefined)[] = [];
        for (const [index, [parent, goes]] of family.entries()) {
          const metadata = { goes };
          if (index === 0) await ask(await runtime.session("0", { metadata }), "Hello.");
          else {
            const from = await runtime.session(`${parent % index}`);
            await (await from.fork({ id: `${index}` })).setMetadata(metadata);
          }
          parents.push(index === 0 ? undefined : parent % index);
        }
        const goes = (index: number): boolean => family[index]?.[1] === true;
        const stays = (index: number): boolean =>
          !goes(index) ||
          (forks === "refuse" && parents.some((parent, child) => parent === index && stays(child)));
        const expected = family.flatMap((_one, index) => (stays(index) ? [`${index}`] : []));
        const query = { where: { goes: true }, forks } as const;
        const would = await runtime.deleteSessions({ ...query, dryRun: true });
        const done = await runtime.deleteSessions(query);
        expect(await left(runtime)).toEqual(expected);
        expect(done.deleted).toEqual(would.deleted);
        expect(done.kept.map(({ session }) => session)).toEqual(
          would.kept.map(({ session }) => session),
        );
      },
    ),
    runs(20),
  );
});

it("deletes sub-agents with the session that called them, and keeps them with it", async () => {
  let now = 1000;
  const agent: Agent = {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "tool" ? "Done." : calling(call("help", "1", { task: "Help." })),
    ),
    tools: {
      help: agentTool({ agent: { model: scriptedModel(() => "Fine.") }, description: "Helps." }),
    },
  };
  await using runtime = await createRuntime({ memory: true, agent, testing: { clock: () => now } });
  const withSubAgent = async (id: string): Promise<string> => {
    const session = await runtime.session(id, { metadata: { userId: "u" } });
    await ask(session, "Hello.");
    return (await session.subAgents()).subAgents[0]?.session ?? "";
  };
  const [gone, waits, used, forked] = [
    await withSubAgent("gone"),
    await withSubAgent("waits"),
    await withSubAgent("used"),
    await withSubAgent("forked"),
  ];
  const later = { notBefore: new Date(2 ** 42) };
  await (await runtime.session("waits")).send("Later.", later);
  await (await runtime.session("gone")).setMetadata({ userId: "u", topic: "cats" });
  now = 9000;
  await ask(await runtime.session(used), "Do you still know?");
  await ask(await (await runtime.session(forked)).fork({ id: "fork" }), "And you?");
  const query = { olderThan: new Date(5000), where: { userId: "u" } };
  for (const dryRun of [true, false]) {
    const { deleted, kept } = await runtime.deleteSessions({ ...query, dryRun });
    expect(deleted.map(({ session }) => session)).toEqual(["gone", gone]);
    expect(kept.map(({ session, error }) => [session, error.code])).toEqual([
      ["waits", "COMMAND_REFUSED"],
      ["forked", "SESSION_HAS_FORKS"],
    ]);
  }
  expect(await left(runtime)).toEqual(["fork", "forked", forked, "used", used, "waits", waits]);
});

it("deletes no sub-agent of a session that a fork keeps, or of which a fork keeps another sub-agent", async () => {
  const agent: Agent = {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "tool"
        ? "Done."
        : calling(...["1", "2"].map((id) => call("help", id, { task: "Help." }))),
    ),
    tools: {
      help: agentTool({ agent: { model: scriptedModel(() => "Fine.") }, description: "Helps." }),
    },
  };
  await using runtime = await createRuntime({ memory: true, agent });
  const session = await runtime.session("s");
  await ask(session, "Hello.");
  await session.fork({ id: "fork" });
  const all = await left(runtime);
  const refused = { code: "SESSION_HAS_FORKS", details: { forks: ["fork"] } };
  await expect(runtime.delete("s")).rejects.toMatchObject({ session: "s", ...refused });
  expect(await left(runtime)).toEqual(all);
  await runtime.delete("fork");
  const [, second] = (await session.subAgents()).subAgents.map((one) => one.session);
  await (await runtime.session(second ?? "")).fork({ id: "fork-2" });
  await expect(runtime.delete("s")).rejects.toMatchObject({
    session: second,
    code: "SESSION_HAS_FORKS",
  });
  expect(await left(runtime)).toHaveLength(all.length);
  await runtime.delete("s", { forks: "copy" });
  expect(await left(runtime)).toEqual(["fork-2"]);
});
