/** Every command does in a database what it does in a folder: on sessions that nobody runs, and on those of another process. */

import { afterEach, expect, it } from "vitest";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { jsonLines, run } from "../cli/command-line.ts";
import { everyCommand, openRuntime, prepare, type Carrier } from "../cli/every-carrier.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";

const ends: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function folderOf(): Promise<Carrier["folder"]> {
  const folder = await temporaryFolder({});
  ends.push(() => folder[Symbol.asyncDispose]());
  return folder;
}

async function inDatabase(isRun: boolean): Promise<Carrier> {
  const programs = installedPostgres();
  const wanted = process.env["TURNLOG_POSTGRES"] !== undefined && programs !== undefined;
  const server = wanted ? await startPostgres(programs) : await startPglite();
  ends.push(() => server[Symbol.asyncDispose]());
  const folder = await folderOf();
  const { connectionString, connections } = server;
  const log = await openPostgresLog({ connectionString, connections, pollingMs: 20 });
  ends.push(() => log.close());
  const runtime = await openRuntime(folder, { log });
  await prepare(runtime);
  if (isRun) ends.push(() => runtime.close());
  else await runtime.close();
  return { folder, options: ["--keys", "keys", "--postgres", connectionString] };
}

async function inFolder(): Promise<Carrier> {
  const folder = await folderOf();
  const runtime = await openRuntime(folder, { dir: folder.at(".turnlog") });
  await prepare(runtime);
  await runtime.close();
  return { folder, options: ["--keys", "keys"] };
}

it.each([
  ["that nobody runs", false],
  ["that another process runs", true],
])("every command prints the same of sessions %s", async (_, isRun) => {
  const here = await everyCommand(await inFolder());
  expect(await everyCommand(await inDatabase(isRun))).toEqual(here);
});

it("a command that needs the agent is carried out by the process that runs the session", async () => {
  const { folder, options } = await inDatabase(true);
  const { code, stdout } = await run(["cancel", "s", ...options], { cwd: folder.path });
  expect([code, jsonLines(stdout)]).toMatchObject([0, [{ was: "idle", withdrawn: [] }]]);
});
