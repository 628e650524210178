/** Commands on one store at the same moment, each in a process of its own: none is refused because of another. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { times } from "../support/runs.ts";
import { runProcess, type Ended } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder({ "a.ts": "zod\n" });
  await turnlog("--session", "one", "list all files");
});

afterAll(() => folder[Symbol.asyncDispose]());

async function turnlog(...args: readonly string[]): Promise<Ended> {
  return await runProcess(args, { cwd: folder.path });
}

/** What the commands that fail say, when all run at once. */
async function failures(commands: readonly (readonly string[])[]): Promise<readonly string[]> {
  const all = await Promise.all(commands.map((args) => turnlog(...args)));
  return all.filter(({ code }) => code !== 0).map(({ stderr }) => stderr);
}

const reading = ["show", "one"];

it.each([3, 8])("%i commands read the store at once", async (count) => {
  for (let round = 0; round < times(1, 4); round++)
    expect(await failures(Array.from({ length: count }, () => reading))).toEqual([]);
});

it("commands read the store while a chat begins and ends, and one that writes waits for them", async () => {
  for (let round = 0; round < times(1, 4); round++) {
    const chat = ["--session", `chat-${round}`, "list all files"];
    expect(await failures([reading, chat, ["sessions"], reading, ["verify"]])).toEqual([]);
    expect(await failures([reading, ["gc"], reading])).toEqual([]);
  }
});
