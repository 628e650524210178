/** Processes that are killed while a person logs in, at each save of the tokens. The next one continues, and asks no more than it must. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { loggedInAt, loginServer, type LoginServer } from "./own-login-server.ts";

const program = fileURLToPath(new URL("login-child.ts", import.meta.url));
const lineSchema = z.union([
  z.strictObject({ open: z.string() }),
  z.strictObject({ error: z.string() }),
  z.strictObject({ text: z.string() }),
]);

interface Life {
  readonly signal: NodeJS.Signals | null;
  readonly logins: number;
  readonly text: string | undefined;
}

/** A process, and the person who logs in wherever it asks for it. */
async function live(
  folder: string,
  { url }: LoginServer,
  recovery: string,
  dieAt = 0,
): Promise<Life> {
  const args = [program, join(folder, "log"), join(folder, "tokens"), url, recovery, `${dieAt}`];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  // It may be dead already.
  child.stdin.on("error", () => {});
  let logins = 0;
  let text: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = lineSchema.parse(JSON.parse(line));
    if ("text" in said) ({ text } = said);
    if (!("open" in said)) continue;
    logins += 1;
    child.stdin.write(`${(await loggedInAt(said.open)).toString()}\n`);
  }
  await ended;
  return { signal: child.signalCode, logins, text };
}

/** Saves 1 to 6 are before the person is asked, 7 to 12 after; an odd one is not kept. */
const saves = Array.from({ length: 12 }, (_, index) => index + 1);

it.each(saves)("a process that dies at save %i of a login leaves it to the next", async (dieAt) => {
  // A call that waits for its person needs no policy.
  const recovery = dieAt > 6 && dieAt < 11 ? "stop" : "continue";
  await using server = await loginServer();
  await using folder = await temporaryFolder();
  expect(await live(folder.path, server, recovery, dieAt)).toMatchObject({ signal: "SIGKILL" });
  const { text, logins } = await live(folder.path, server, recovery);
  expect(text).toContain("The user is logged in at own.");
  expect(logins).toBe(1);
});
