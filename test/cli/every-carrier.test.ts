/** Every command prints and does the same in a folder, through the process that has it open, and on a server. */

import { afterEach, expect, it } from "vitest";
import type { Runtime } from "../../src/public/index.ts";
import { serveNode } from "../../src/server/index.ts";
import { run } from "./command-line.ts";
import { chatting, everyCommand, openRuntime, prepare, type Carrier } from "./every-carrier.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const ends: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function prepared(dir: string): Promise<Carrier & { readonly runtime: Runtime }> {
  const folder = await temporaryFolder({});
  ends.push(() => folder[Symbol.asyncDispose]());
  const runtime = await openRuntime(folder, { dir: folder.at(dir) });
  ends.push(() => runtime.close());
  await prepare(runtime);
  return { folder, runtime, options: ["--keys", "keys"] };
}

/** A folder that another runtime has open. */
const inUse = (): Promise<Carrier> => prepared(".turnlog");

/** A folder that nobody has open. */
async function closed(): Promise<Carrier> {
  const { runtime, ...carrier } = await prepared(".turnlog");
  await runtime.close();
  return carrier;
}

async function served(): Promise<Carrier> {
  const { folder, runtime } = await prepared("elsewhere");
  const server = await serveNode(runtime, { port: 0, token: "a token of the server" });
  ends.push(() => server.close());
  return {
    folder,
    options: ["--server", server.url],
    env: { TURNLOG_TOKEN: "a token of the server" },
  };
}

it("every command prints the same, whoever runs the session", async () => {
  const here = await everyCommand(await closed());
  expect(await everyCommand(await inUse())).toEqual(here);
  expect(await everyCommand(await served())).toEqual(here);
});

it("a chat and a rerun end their turns, whoever runs the session", async () => {
  for (const carrier of [await closed(), await inUse(), await served()])
    expect(await chatting(carrier)).toEqual(["turn.ended", "turn.ended"]);
});

it("the command line says what a server refuses, and that a store is where it is", async () => {
  const { folder, options, env = {} } = await served();
  const said = async (
    args: readonly string[],
    token = env["TURNLOG_TOKEN"] ?? "",
  ): Promise<string> => {
    const { code, stderr } = await run([...args, ...options], {
      cwd: folder.path,
      env: { TURNLOG_TOKEN: token },
    });
    return `${code} ${stderr}`;
  };
  expect(await said(["sessions"], "another token")).toMatch(/^1 .*\[UNAUTHORIZED\]/s);
  expect(await said(["rewind", "s", "--to", "1"], "")).toMatch(/^1 .*\[UNAUTHORIZED\]/s);
  expect(await said(["gc"])).toContain("run it where the store is");
  expect(await said(["backup", "copy"])).toContain("run it where the store is");
  expect(await said(["serve"])).toContain("run it where the store is");
  expect(await said(["sessions", "--keys", "keys"])).toContain("--keys works only where");
  expect(await said(["sessions", "--postgres", "postgres://x"])).toContain(
    "both name the sessions",
  );
  expect(await said(["studio", "--no-open"])).toMatch(/^1 /);
});
