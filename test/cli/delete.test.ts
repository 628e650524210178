/** `turnlog delete`: asked in a terminal, said by `--yes` elsewhere, and for good. */

import { once } from "node:events";
import { join } from "node:path";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { all, inAll } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { jsonLines, run, start } from "./command-line.ts";
import { heldProvider } from "./held-provider.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";

it("deletes a session where --yes says so, and no later command finds it or takes its name", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  await run(["--session", "two", "hello"], { cwd });
  const silent = await run(["delete", "one"], { cwd });
  expect(silent).toMatchObject({ code: 2, stdout: "" });
  expect(silent.stderr).toContain("--yes");
  const deleted = await run(["delete", "one", "--yes", "--json"], { cwd });
  expect(deleted).toMatchObject({ code: 0 });
  expect(jsonLines(deleted.stdout)).toMatchObject([
    { session: "one", forks: [], repeated: false, erased: true },
  ]);
  const { stdout } = await run(["sessions", "--json"], { cwd });
  expect(jsonLines(stdout)).toMatchObject([{ session: "two" }]);
  expect((await run(["show", "one"], { cwd })).stderr).toMatch(/deleted.*\[SESSION_DELETED\]/);
  const spoken = await run(["--session", "one", "hello"], { cwd });
  expect(spoken.code).toBe(1);
  expect(spoken.stderr).toContain("[SESSION_DELETED]");
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  expect((await run(["repair"], { cwd })).stdout).toContain("is sound");
});

it("keeps a session that others share events with, unless they are to have their own", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  await run(["fork", "one", "--id", "two"], { cwd });
  const before = await run(["show", "two", "--json"], { cwd });
  const refused = await run(["delete", "one", "--yes"], { cwd });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/two.*--forks copy.*\[SESSION_HAS_FORKS\]/s);
  const deleted = await run(["delete", "one", "--yes", "--forks", "copy"], { cwd });
  expect(deleted.stdout).toMatch(
    /was permanently deleted: \d+ events\. Copied first into: two\.\n/,
  );
  expect(await run(["show", "two", "--json"], { cwd })).toEqual(before);
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  expect(await run(["--session", "two", "list the files"], { cwd })).toMatchObject({ code: 0 });
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  expect((await run(["backup", "copy"], { cwd })).code).toBe(0);
  expect(await run(["--dir", "copy", "verify"], { cwd })).toMatchObject({ code: 0 });
});

it("keeps a session whose turn waits for an approval, unless --cancel gives up the turn", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  const runtime = await createRuntime({
    dir: join(cwd, ".turnlog"),
    agent: {
      model: scriptedModel(() => calling(call("ask", "1"))),
      // oxlint-disable-next-line typescript/no-deprecated
      tools: { ask: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "x" }) },
    },
  });
  for (const name of ["one", "two"]) {
    const session = await runtime.session(name, { metadata: { user: "ann" } });
    (await session.send("Go.")).result.catch(() => {});
    await seen(session, "tool.approval-requested");
  }
  await runtime.close();
  const refused = await run(["delete", "one", "--yes"], { cwd });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/waits for an approval.*--cancel.*\[COMMAND_REFUSED\]/s);
  expect((await run(["delete", "one", "--yes", "--cancel"], { cwd })).code).toBe(0);
  const all = ["delete", "--where", "user=ann", "--yes"];
  expect((await run(all, { cwd })).stdout).toMatch(/Deleted 0 sessions, kept 1\./);
  expect((await run([...all, "--cancel"], { cwd })).stdout).toMatch(/Deleted 1 session\./);
  expect((await run(["sessions", "--json"], { cwd })).stdout).toBe("");
});

it("deletes a session that a dead process left in the middle of a turn", async () => {
  await using folder = await temporaryFolder({ "a.ts": "zod\n" });
  const cwd = folder.path;
  await using provider = await heldProvider(2);
  const { args, env } = provider;
  const killed = start(["--session", "cut", ...args, "which files mention zod?"], { cwd, env });
  await killed.until("stderr", /✓ search_files/);
  killed.child.kill("SIGKILL");
  await once(killed.child, "exit");
  expect((await run(["delete", "cut", "--yes"], { cwd })).code).toBe(0);
});

it("deletes the sessions of a query, after a dry run that changes nothing", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  {
    await using runtime = await createRuntime({
      dir: join(cwd, ".turnlog"),
      agent: { model: scriptedModel(() => "Fine.") },
    });
    for (const userId of ["1", 1, "2"])
      await runtime.session(`${typeof userId}-${userId}`, { metadata: { userId } });
  }
  const names = async (): Promise<readonly unknown[]> =>
    jsonLines((await run(["sessions", "--json"], { cwd })).stdout)
      .map((row) => z.object({ session: z.string() }).parse(row).session)
      .toSorted();
  const dry = await run(["delete", "--where", "userId=1", "--dry-run"], { cwd });
  expect(dry.stdout).toMatch(/^Would delete string-1: .*\nWould delete 1 session\.\n$/);
  expect(await names()).toEqual(["number-1", "string-1", "string-2"]);
  const young = await run(["delete", "--older-than", "1d", "--yes"], { cwd });
  expect(young).toMatchObject({ code: 0, stdout: "Deleted 0 sessions.\n" });
  const silent = await run(["delete", "--where", "userId:=1"], { cwd });
  expect(silent).toMatchObject({ code: 2, stdout: "" });
  const deleted = await run(["delete", "--where", "userId:=1", "--yes", "--json"], { cwd });
  expect(jsonLines(deleted.stdout)).toMatchObject([
    { dryRun: false, deleted: [{ session: "number-1" }], kept: [] },
  ]);
  expect(await names()).toEqual(["string-1", "string-2"]);
  for (const args of [
    ["delete"],
    ["delete", "string-1", "--older-than", "1d"],
    ["delete", "--where", "userId"],
    ["delete", "--older-than", "soon", "--yes"],
  ])
    expect((await run(args, { cwd })).code).toBe(2);
  expect(await names()).toEqual(["string-1", "string-2"]);
});

describe.skipIf(!hasTerminals || !all)(`in a terminal${inAll}`, () => {
  it("asks first, and takes anything but a yes for a no", async () => {
    await using folder = await temporaryFolder({});
    const cwd = folder.path;
    await run(["--session", "one", "hello"], { cwd });
    for (const [keys, code, left] of [
      ["\r", 130, 1],
      ["n\r", 130, 1],
      ["\u0003", 130, 1],
      ["\u0004", 130, 1],
      ["y\r", 0, 0],
    ] as const) {
      const asking = startInTerminal(["delete", "one"], { cwd });
      await asking.until(/Delete session one with its \d+ events permanently\?/);
      asking.type(keys);
      const ended = await asking.ended;
      expect({ keys, code: ended.code }).toEqual({ keys, code });
      expect(ended.screen.includes("Nothing was deleted.")).toBe(code === 130);
      const { stdout } = await run(["sessions", "--json"], { cwd });
      expect(jsonLines(stdout)).toHaveLength(left);
    }
  });
});
