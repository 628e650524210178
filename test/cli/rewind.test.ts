/** `turnlog rewind` and `turnlog branches`: a session goes back at the command line, and continues from there. */

import { expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, run } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it.each(["--before-turn", "--before-message", "--to"])(
  "goes back to before the second turn by %s, lists both branches, and continues",
  async (option) => {
    await using folder = await temporaryFolder({ "a.txt": "content-of-a" });
    const cwd = folder.path;
    await run(["--session", "one", "hello"], { cwd });
    const before = await run(["show", "one"], { cwd });
    const revision = (await read(cwd)).length;
    await run(["--session", "one", "read a.txt"], { cwd });
    const events = await read(cwd);
    const second = events.findLast(({ type }) => type === "message.queued");
    const message = String(second?.data["id"]);
    const places: Readonly<Record<string, string>> = {
      "--before-turn": "2",
      "--before-message": message,
      "--to": String(revision),
    };
    const back = await run(["rewind", "one", option, places[option] ?? "", "--tell"], { cwd });
    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toContain(`on the new branch ${events.length + 1}; 1 turn left`);
    expect(back.stderr).toMatch(/^ {2}turn 2, step \d+: \w+ \(.+\), succeeded$/m);
    const shown = await run(["show", "one"], { cwd });
    expect(shown.stdout.startsWith(before.stdout)).toBe(true);
    expect(shown.stdout).toContain("Told to the model");
    const listed = await run(["branches", "one"], { cwd });
    expect(listed.stdout).toMatch(
      new RegExp(`^ {2}1: 2 turns, last .+\\n\\* ${events.length + 1}: 1 turn, from position \\d+`),
    );
    await run(["--session", "one", "hello again"], { cwd });
    expect(jsonLines((await run(["branches", "one", "--json"], { cwd })).stdout)).toMatchObject([
      { id: 1, turns: 2, head: events.length, active: false },
      { id: events.length + 1, parent: 1, turns: 2, active: true },
    ]);
    expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  },
);

it("show marks what is off the active branch, in the history and among the events", async () => {
  await using folder = await temporaryFolder({ "a.txt": "content-of-a" });
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  const { length: kept } = await read(cwd);
  await run(["--session", "one", "read a.txt"], { cwd });
  const { length: left } = await read(cwd);
  await run(["rewind", "one", "--before-turn", "2"], { cwd });
  await run(["--session", "one", "hello again"], { cwd });
  const isLeft = (position: number): boolean => position > kept && position <= left;
  for (const view of ["events", "history"]) {
    const shown = await run(["show", "one", "--view", view, "--json"], { cwd });
    const rows = z.array(rowSchema).parse(jsonLines(shown.stdout));
    expect(rows.some(({ position }) => isLeft(position))).toBe(true);
    for (const { position, leftBranch } of rows)
      expect(leftBranch, `${view} ${position}`).toBe(isLeft(position) ? 1 : undefined);
  }
  const history = (await run(["show", "one"], { cwd })).stdout;
  expect(history).toMatch(/^ *\d+ {2}\[left: branch 1\] > read a\.txt$/m);
  expect(history).toMatch(/^ *\d+ {2}> hello again$/m);
  const { stdout } = await run(["show", "one", "--view", "events"], { cwd });
  const marked = stdout.split("\n").filter((line) => line.includes("[left: branch 1]"));
  expect(marked.map((line) => Number.parseInt(line, 10))).toEqual(
    Array.from({ length: left - kept }, (_, index) => kept + 1 + index),
  );
  const then = await run(["show", "one", "--position", String(left)], { cwd });
  expect(then.stdout).not.toContain("[left:");
});

it("answers as JSON, and changes nothing where the session is already", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await run(["--session", "one", "--hash-chain", "hello"], { cwd });
  const { length } = await read(cwd);
  const here = await run(["rewind", "one", "--to", String(length)], { cwd });
  expect(here.stdout).toContain("nothing changed");
  expect(await read(cwd)).toHaveLength(length);
  const back = await run(["rewind", "one", "--before-turn", "1", "--json"], { cwd });
  expect(jsonLines(back.stdout)).toMatchObject([
    { session: "one", branch: length + 1, position: length + 1, turns: [1], effects: [] },
  ]);
  await run(["--session", "one", "hello"], { cwd });
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
});

it("checks another branch out and returns, says which, and changes nothing where it is", async () => {
  await using folder = await temporaryFolder({ "a.txt": "content-of-a" });
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  await run(["--session", "one", "read a.txt"], { cwd });
  const before = await run(["show", "one"], { cwd });
  const { length: head } = await read(cwd);
  await run(["rewind", "one", "--before-turn", "2"], { cwd });
  const here = await run(["checkout", "one", String(head + 1)], { cwd });
  expect(here.stdout).toContain(`is already on branch ${head + 1}, at position`);
  const { stdout: lines } = await run(["show", "one", "--view", "events", "--json"], { cwd });
  expect(jsonLines(lines)).toHaveLength(head + 1);
  await run(["--session", "one", "hello again"], { cwd });
  const back = await run(["checkout", "one", "1"], { cwd });
  expect(back).toMatchObject({ code: 0, stderr: "" });
  expect(back.stdout).toContain(`on branch 1 again, at position ${head}; 1 turn left`);
  const shown = await run(["show", "one"], { cwd });
  expect(shown.stdout.replaceAll(/\[left: [^]*/g, "").trim()).toContain(before.stdout.trim());
  const other = await run(["checkout", "one", String(head + 1), "--json", "--tell"], { cwd });
  expect(jsonLines(other.stdout)).toMatchObject([
    { session: "one", branch: head + 1, turns: [2], effects: [{ status: "succeeded" }] },
  ]);
  await run(["rewind", "one", "--before-turn", "1"], { cwd });
  const fromEmpty = await run(["checkout", "one", "1"], { cwd });
  expect(fromEmpty.stdout).toMatch(/on branch 1 again, .*; 0 turns left/);
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
});

it("says that it has gone back to a branch, also from one without a turn", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  const { length: head } = await read(cwd);
  await run(["rewind", "one", "--before-turn", "1"], { cwd });
  const again = await run(["rewind", "one", "--to", "1"], { cwd });
  expect(again.stdout).toContain(`on the new branch ${head + 2}; 0 turns left`);
  const back = await run(["checkout", "one", "1"], { cwd });
  expect(back.stdout).toContain(`on branch 1 again, at position ${head}; 0 turns left`);
  const here = await run(["checkout", "one", "1"], { cwd });
  expect(here.stdout).toContain("is already on branch 1");
  const { stdout } = await run(["show", "one", "--view", "events", "--json"], { cwd });
  expect(jsonLines(stdout)).toHaveLength(head + 3);
});

it("says what is wrong with a place or a session, and changes nothing", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  const { length } = await read(cwd);
  for (const [args, code, text] of [
    [["rewind", "one"], 2, "one of --to <position>"],
    [["rewind", "one", "--to", "1", "--before-turn", "1"], 2, "one of --to <position>"],
    [["rewind", "one", "--before-turn", "0"], 2, "not a whole number above 0"],
    [["rewind", "one", "--to", "9999"], 1, "[COMMAND_REFUSED]"],
    [["rewind", "one", "--to", String(length - 1)], 1, "nearest positions"],
    [["rewind", "one", "--before-turn", "7"], 1, "it has no turn 7"],
    [["rewind", "one", "--before-message", "none"], 1, "[COMMAND_REFUSED]"],
    [["rewind", "none", "--before-turn", "1"], 1, "[SESSION_NOT_FOUND]"],
    [["branches", "none"], 1, "[SESSION_NOT_FOUND]"],
    [["rewnid", "one"], 2, "rewind"],
    [["checkout", "one", "5"], 1, "Its branches: 1"],
    [["checkout", "one", "x"], 2, "not a whole number"],
    [["checkout", "one"], 2, "branch"],
    [["checkout", "none", "1"], 1, "[SESSION_NOT_FOUND]"],
  ] as const) {
    const ended = await run(args, { cwd });
    expect(ended, args.join(" ")).toMatchObject({ code, stdout: "" });
    expect(ended.stderr).toContain(text);
  }
  expect(await read(cwd)).toHaveLength(length);
});

it("does not cut off a turn that has not ended", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  const events = await read(cwd);
  const inTurn = events.find(({ type }) => type === "step.started")?.position;
  await run(["fork", "one", "--position", String(inTurn), "--id", "two"], { cwd });
  const refused = await run(["rewind", "two", "--before-turn", "1"], { cwd });
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toMatch(/its turn has not ended.*turnlog --session two/s);
});

const rowSchema = z.looseObject({ position: z.number(), leftBranch: z.number().optional() });

async function read(cwd: string): Promise<ReturnType<typeof readEvents>> {
  const { stdout } = await run(["show", "one", "--view", "events", "--json"], { cwd });
  return readEvents(jsonLines(stdout));
}
