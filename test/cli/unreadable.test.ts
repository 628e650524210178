/** A session with an event that nobody can read: it can be deleted, and hides no other session. */

import { beforeEach, afterEach, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, type SessionEvent } from "../../src/public/index.ts";
import { openLog } from "../../src/store/leveldb/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let cwd: string;

/** As an earlier release wrote it for `maxSteps: Infinity`. */
const broken = { type: "turn.started", time: 3, data: { turn: 1, maxSteps: null } };

beforeEach(async () => {
  folder = await temporaryFolder({});
  cwd = folder.path;
  const dir = folder.at(".turnlog");
  const agent = { model: scriptedModel(() => "Hi.") };
  const said = async (session: string, text: string): Promise<void> => {
    await using runtime = await createRuntime({ dir, agent });
    await (
      await (await runtime.session(session)).send(text)
    ).result;
  };
  await said("before", "Go.");
  {
    await using log = await openLog({ dir });
    const first = { id: "m", content: "x", delivery: "follow-up" } as const;
    await log.append(
      "r",
      0,
      [
        { type: "message.queued", time: 2, data: first },
        broken as unknown as Omit<SessionEvent<"turn.started">, "position">,
        { type: "session.resumed", time: 4, data: {} },
      ],
      { origin: "recorded" },
    );
    const kept = await log.blobs.put(new TextEncoder().encode("of nobody"));
    kept[Symbol.dispose]();
  }
  await said("later", "Go.");
});
afterEach(async () => {
  await folder[Symbol.asyncDispose]();
});

const placed = z.array(
  z.object({ session: z.string(), event: z.looseObject({ position: z.number() }) }),
);

it("`log` tells all others, and which it leaves out", async () => {
  const { code, stdout, stderr } = await run(["log", "--json"], { cwd });
  expect(code).toBe(0);
  const events = placed.parse(jsonLines(stdout));
  expect(
    events.filter(({ session }) => session === "r").map(({ event }) => event.position),
  ).toEqual([1, 3]);
  expect(new Set(events.map(({ session }) => session))).toEqual(new Set(["before", "r", "later"]));
  expect(stderr).toContain("r:2");
  const one = await run(["log", "--session", "later"], { cwd });
  expect(one.stderr).not.toContain("r:2");
});

it("`sessions` lists it beside all others, with what is wrong with it", async () => {
  const { code, stdout } = await run(["sessions"], { cwd });
  expect(code).toBe(0);
  for (const session of ["before", "r", "later"]) expect(stdout).toContain(session);
  expect(stdout).toMatch(/^r +.*unreadable.*r:2/m);
  const { stdout: lines } = await run(["sessions", "--json"], { cwd });
  const rows = z
    .array(z.object({ session: z.string(), problem: z.unknown().optional() }))
    .parse(jsonLines(lines));
  const problem = { code: "EVENT_INVALID", position: 2 };
  expect(rows.find(({ session }) => session === "r")).toMatchObject({ problem });
  expect(rows.filter((row) => row.problem === undefined)).toHaveLength(2);
});

it("`sessions` lists it beside all others also where its turn has not ended", async () => {
  {
    await using log = await openLog({ dir: folder.at(".turnlog") });
    await log.append("r", 3, [{ type: "turn.started", time: 5, data: { turn: 1, maxSteps: 1 } }], {
      origin: "recorded",
    });
  }
  const { code, stdout } = await run(["sessions"], { cwd });
  expect(code).toBe(0);
  for (const session of ["before", "r", "later"]) expect(stdout).toContain(session);
  expect(stdout).toContain("unreadable");
});

it("`gc` takes what no session has", async () => {
  const { code, stdout } = await run(["gc"], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain("1 blob that no session uses");
});

it("`delete` takes it away, and the store is sound after", async () => {
  const { code, stdout } = await run(["delete", "r", "--yes"], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain("3 events");
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
});

it("a runtime deletes it too", async () => {
  await using runtime = await createRuntime({
    dir: folder.at(".turnlog"),
    agent: { model: scriptedModel([]) },
  });
  await expect(runtime.session("r")).rejects.toMatchObject({ code: "EVENT_INVALID" });
  expect(await runtime.delete("r")).toMatchObject({ revision: 3 });
});
