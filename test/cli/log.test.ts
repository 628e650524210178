/** `turnlog log`: all sessions in one order, and what comes later when it is followed. */

import { expect, it } from "vitest";
import { z } from "zod";
import { encryptedLog, folderKeys } from "../../src/store/encryption/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { openLog } from "../../src/store/leveldb/index.ts";
import { numbered } from "../../src/testing/index.ts";
import { jsonLines, run, start } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { eventually } from "../support/eventually.ts";

const placed = z.array(
  z.object({
    position: z.number(),
    session: z.string(),
    event: z.looseObject({ position: z.number() }),
  }),
);

const places = (stdout: string): readonly string[] =>
  placed
    .parse(jsonLines(stdout))
    .map(({ position, session, event }) => `${position} ${session}:${event.position}`);

/** A follower has the store while it reads. */
const opened = (dir: string): Promise<EventLog> => eventually(() => openLog({ dir }));

async function write(dir: string, sessions: readonly string[]): Promise<void> {
  await using log = await opened(dir);
  for (const [at, session] of sessions.entries()) await log.append(session, "any", [numbered(at)]);
}

it("prints the events of all sessions in order, or those of one, from a position on", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await write(folder.at(".turnlog"), ["a", "b", "a", "gone", "b"]);
  await run(["delete", "gone", "--yes"], { cwd });
  const { stdout } = await run(["log", "--json"], { cwd });
  expect(places(stdout)).toEqual(["1 a:1", "2 b:1", "3 a:2", "5 b:2"]);
  const one = await run(["log", "--json", "--session", "b", "--from", "2"], { cwd });
  expect(places(one.stdout)).toEqual(["2 b:1", "5 b:2"]);
  const words = await run(["log"], { cwd });
  expect(words.stdout).toMatch(/^ +1 +a +1 .*part\.text-delta.*text 0/);
});

it("follows what other processes write, and lets go of the store in between", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  const dir = folder.at(".turnlog");
  await write(dir, ["a"]);
  const following = start(["log", "--follow", "--json", "--session", "a"], { cwd });
  await following.until("stderr", /all events so far/);
  for (let round = 2; round <= 3; round++) {
    await write(dir, ["a", "b"]);
    await following.until("stdout", new RegExp(`"position":${round},`));
  }
  following.child.kill("SIGINT");
  const { code, stdout } = await following.ended;
  expect(code).toBe(130);
  expect(places(stdout)).toEqual(["1 a:1", "2 a:2", "4 a:3"]);
});

it("shows one session as others write it, as events and as the conversation", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await run(["--session", "talk", "say something"], { cwd });
  const events = start(["show", "talk", "--view", "events", "--json", "--follow"], { cwd });
  const history = start(["show", "talk", "--follow"], { cwd });
  for (const one of [events, history]) await one.until("stderr", /all events so far/);
  await run(["--session", "other", "say something"], { cwd });
  await run(["--session", "talk", "say more"], { cwd });
  await history.until("stdout", /Turn 2[^]*say more/);
  await events.until("stdout", /"turn.ended"[^]*"turn.ended"/);
  events.child.kill("SIGINT");
  const { code, stdout } = await events.ended;
  expect(code).toBe(130);
  // Nothing more can come: the id is never used again.
  await run(["delete", "talk", "--yes"], { cwd });
  const last = await history.ended;
  expect(`${last.code} ${last.stderr}`).toMatch(/^1 .*SESSION_DELETED/s);
  const said = z.array(z.looseObject({ position: z.number() })).parse(jsonLines(stdout));
  expect(said.map(({ position }) => position)).toEqual(said.map((_, index) => index + 1));
  const idle = await run(["show", "other", "--view", "usage", "--follow"], { cwd });
  expect(idle).toMatchObject({ code: 2, stdout: "" });
  const missing = await run(["show", "nobody", "--follow"], { cwd });
  expect(missing.stderr).toContain("[SESSION_NOT_FOUND]");
});

it("says of a store that is in use where its events can be followed", async () => {
  await using folder = await temporaryFolder({});
  const dir = folder.at(".turnlog");
  await using log = await openLog({ dir });
  await log.append("a", "none", [numbered(1)]);
  const refused = await run(["log", "--follow"], { cwd: folder.path });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/subscribeAll.*\[LOG_LOCKED\]/s);
});

it("shows what an encrypted session says as redacted where its key is not at hand, and all others as they are", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  const dir = folder.at(".turnlog");
  await write(dir, ["open"]);
  {
    await using log = encryptedLog(await opened(dir), folderKeys(folder.at("keys")));
    await log.append("secret", "none", [numbered(7)]);
  }
  await write(dir, ["open"]);
  const without = await run(["log"], { cwd });
  expect(without).toMatchObject({ code: 0, stderr: "" });
  const [first, second, third] = without.stdout.split("\n");
  expect(first).toMatch(/open .*text 0/);
  expect(second).toMatch(/secret .*redacted/);
  expect(second).not.toContain("text 7");
  expect(third).toMatch(/open .*text 0/);
  const one = await run(["log", "--session", "open", "--json"], { cwd });
  expect(places(one.stdout)).toEqual(["1 open:1", "3 open:2"]);
  const opening = await run(["--keys", "keys", "log", "--session", "secret"], { cwd });
  expect(opening.stdout).toMatch(/secret .*text 7/);
});

it("refuses a session that the store does not have, and tells one that was deleted", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await write(folder.at(".turnlog"), ["a", "gone"]);
  await run(["delete", "gone", "--yes"], { cwd });
  for (const [session, code] of [
    ["nope", "SESSION_NOT_FOUND"],
    ["gone", "SESSION_DELETED"],
  ] as const) {
    const refused = await run(["log", "--session", session], { cwd });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`[${code}]`);
  }
});
