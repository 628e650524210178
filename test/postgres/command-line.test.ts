/** The commands of the command line on a database; those of folders, and options without effect, are refused. */

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { jsonLines, run, start, type Ended } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { saying } from "../support/script.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";

const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const programs = installedPostgres();
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
const folder = await temporaryFolder({ "a.ts": "zod\n" });
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const { path: cwd } = folder;
const url = server.connectionString;
const offline = ["--model", "offline", "--session"];

async function done(...args: readonly string[]): Promise<Ended> {
  const ended = await run([...args, "--postgres", url], { cwd });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended;
}

beforeAll(async () => {
  await run(["postgres", "migrate", "--postgres", url], { cwd });
  for (const text of ["list the files", "which files mention zod?"])
    await run([...offline, "s", text, "--postgres", url], { cwd });
});

it("makes tables only when it is told to, and prints what is missing", async () => {
  await using empty = await startPglite();
  const other = ["--postgres", empty.connectionString];
  const reading = await run(["sessions", ...other], { cwd });
  expect(reading).toMatchObject({ code: 1 });
  expect(reading.stderr).toContain("turnlog postgres migrate");
  const unmigrated = await run([...offline, "s", "hello", "--no-migrate", ...other], { cwd });
  expect(unmigrated).toMatchObject({ code: 1 });
  const missing = await run(["postgres", "migrate", "--sql", ...other], { cwd });
  expect(missing.stdout).toContain("CREATE TABLE");
  expect(await run(["postgres", "migrate", ...other], { cwd })).toMatchObject({ code: 0 });
  const rest = await run(["postgres", "migrate", "--sql", ...other], { cwd });
  expect(rest).toMatchObject({ code: 0, stdout: "" });
});

it("reads sessions", async () => {
  const listed = await run(["sessions", "--json"], { cwd, env: { TURNLOG_POSTGRES_URL: url } });
  expect(jsonLines(listed.stdout)).toMatchObject([{ session: "s", turns: 2 }]);
  for (const args of [
    ["show", "s"],
    ["branches", "s"],
    ["context", "s"],
    ["diff", "s", "2", "20"],
    ["log", "--session", "s"],
    ["replay", "s"],
  ])
    expect((await done(...args)).stdout).not.toBe("");
  expect((await done("verify")).stdout).toContain("sound");
});

it("changes, exports, imports and deletes sessions", async () => {
  const changed = await done("rewind", "s", "--before-turn", "2", "--json");
  expect(jsonLines(changed.stdout)).toMatchObject([{ session: "s", turns: [2] }]);
  await done("checkout", "s", "1");
  expect((await done("fork", "s", "--id", "f")).stdout.trim()).toBe("f");
  await done("rerun", "s", "--id", "again", "--model", "offline");
  await done("export", "s", "--out", "s.jsonl");
  expect(await readFile(folder.at("s.jsonl"), "utf8")).toContain("turn.started");
  await done("import", "s.jsonl", "--id", "imported");
  await done("delete", "imported", "--yes");
  await done("delete", "--older-than", "2100-01-01", "--dry-run");
  await done("gc");
  const listed = await done("sessions", "--json");
  expect(jsonLines(listed.stdout)).toHaveLength(3);
});

it("changes a session that another process runs through that process", async () => {
  const { connectionString, connections } = server;
  await using log = await openPostgresLog({ connectionString, connections, pollingMs: 20 });
  const [{ createRuntime }, { scriptedModel }] = await Promise.all([
    import("../../src/runtime/index.ts"),
    import("../../src/models/index.ts"),
  ]);
  await using runtime = await createRuntime({ log, agent: { model: scriptedModel(["A.", "B."]) } });
  const session = await runtime.session("there");
  await (
    await session.send("One")
  ).result;
  await (
    await session.send("Two")
  ).result;
  await done("rewind", "there", "--before-turn", "2");
  expect(await session.branches()).toHaveLength(2);
  await done("fork", "there", "--id", "there-fork");
  const gone = await done("delete", "there-fork", "--yes");
  expect(gone.stdout).toContain("was permanently deleted");
  expect((await done("delete", "there", "--yes")).stdout).toContain("was permanently deleted");
  await expect(session.send("Three")).rejects.toMatchObject({ code: "SESSION_DELETED" });
});

it("says of a turn whether its process lives", async () => {
  const { connectionString, connections } = server;
  const { createRuntime } = await import("../../src/runtime/index.ts");
  const { gate, scriptedModel } = await import("../../src/models/index.ts");
  const lines = async (): Promise<string> => {
    const { stdout } = await done("sessions");
    return stdout.split("\n").find((line) => line.startsWith("cut")) ?? "";
  };
  await using log = await openPostgresLog({ connectionString, connections, pollingMs: 20 });
  const waits = gate();
  const model = scriptedModel([saying("Half", waits)]);
  {
    await using runtime = await createRuntime({ log, agent: { model } });
    await (await runtime.session("cut")).send("Go");
    await waits.reached;
    expect(await lines()).toContain("running");
  }
  expect(await lines()).toContain("cut off");
});

describe("refuses", () => {
  it.each([
    ["backup", ["backup", "copy"], "pg_dump"],
    ["repair", ["repair"], "pg_dump"],
    ["rotate-keys", ["rotate-keys"], "keys.rotate"],
    ["a folder too", ["sessions", "--dir", "x"], "--dir"],
    ["--take-over", ["sessions", "--take-over"], "--take-over"],
    ["--durability", ["hello", "--durability", "os"], "--durability"],
  ] as const)("%s", async (_name, args, words) => {
    const { code, stderr } = await run([...args, "--postgres", url], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  it("other stores than those of --from and --to, for `copy`", async () => {
    const command = ["copy", "--from", "one", "--to", "two"];
    for (const [option, given] of [
      ["--dir", "three"],
      ["--postgres", url],
      ["--keys", "keys"],
    ] as const) {
      const { code, stderr } = await run([...command, option, given], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain(`${option}: \`turnlog copy\` names its stores`);
    }
  });

  it("--no-migrate for a folder", async () => {
    expect(await run(["sessions", "--no-migrate"], { cwd })).toMatchObject({ code: 2 });
  });

  it.each([
    ["--no-migrate", "two"],
    ["--take-over", url],
  ])("%s for a copy in which it has no effect", async (option, to) => {
    const from = to === url ? `${url}?application_name=other` : url;
    const { code, stderr } = await run(["copy", "--from", from, "--to", to, option], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(option);
  });

  it("nothing where a folder is named and the environment has a database", async () => {
    const { stderr } = await run(["sessions", "--dir", "none"], {
      cwd,
      env: { TURNLOG_POSTGRES_URL: url },
    });
    expect(stderr).toContain("none");
  });
});

it.skipIf(server.process === undefined)(
  "follows what other processes write (needs `npm run test:postgres` and an installed server)",
  async () => {
    const args = ["log", "--follow", "--session", "later", "--postgres", url];
    const following = start(args, { cwd });
    await following.until("stderr", /so far/);
    await done(...offline, "later", "list the files");
    await following.until("stdout", /turn\.ended/);
    following.child.kill("SIGINT");
    expect((await following.ended).stdout).toContain("message.queued");
  },
);
