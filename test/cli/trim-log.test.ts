/** `turnlog trim`: says what would go, drops it where `--yes` says so, and the session is whole. */

import { describe, expect, it } from "vitest";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";

it("tells what it would save, then drops it, and every other command goes on", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  await run(["--session", "one", "hello"], { cwd });
  const views = ["history", "prompt", "state", "usage"];
  const shown = async (at: string): Promise<readonly string[]> => {
    const texts: string[] = [];
    // One after the other: one process at a time has the store.
    for (const view of views)
      texts.push(
        (await run(["show", "one", "--position", at, "--view", view, "--json"], { cwd })).stdout,
      );
    return texts;
  };
  const listed = jsonLines((await run(["sessions", "--json"], { cwd })).stdout);
  const [{ revision } = { revision: 0 }] = listed as { revision: number }[];
  const before = await shown(String(revision));
  const command = ["trim", "one", "--drop", "boundaries"];
  const silent = await run(command, { cwd });
  expect(silent).toMatchObject({ code: 2, stdout: "" });
  expect(silent.stderr).toContain("--yes");
  const [would] = jsonLines((await run([...command, "--dry-run", "--json"], { cwd })).stdout);
  expect(would).toMatchObject({
    session: "one",
    drop: "boundaries",
    dryRun: true,
    revision,
    erased: false,
  });
  const told = await run([...command, "--dry-run"], { cwd });
  expect(told.stdout).toMatch(/^Would drop [^\n]*\n$/);
  const done = await run([...command, "--yes"], { cwd });
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toMatch(
    /^Dropped the boundaries of the deltas of \d+ old steps? of session one: \d+ events, [\d,]+ bytes become [\d,]+\.\n$/,
  );
  expect(before.every((text) => text !== "")).toBe(true);
  expect(await shown(String(revision))).toEqual(before);
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  expect((await run(["repair"], { cwd })).stdout).toContain("is sound");
  expect((await run(["replay", "one", "--check"], { cwd })).code).toBe(0);
  expect((await run([...command, "--yes"], { cwd })).stdout).toBe(
    "Nothing to drop of session one.\n",
  );
  expect(await run(["--session", "one", "hello"], { cwd })).toMatchObject({ code: 0 });
  await run(["export", "one", "--out", "one.jsonl"], { cwd });
  expect((await run(["import", "one.jsonl", "--as", "two"], { cwd })).code).toBe(0);
  expect((await run(["backup", "copy"], { cwd })).code).toBe(0);
  expect(await run(["--dir", "copy", "verify"], { cwd })).toMatchObject({ code: 0 });
});

it("leaves reasoning that is still sent, says so, and drops it where it is asked to", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  await run(["--session", "one", "hello"], { cwd });
  const command = ["trim", "one", "--drop", "reasoning", "--yes"];
  const kept = await run(command, { cwd });
  expect(kept.stdout).toMatch(
    /^Nothing to drop of session one\.\nThe next prompt has the reasoning of .*--shown/,
  );
  const dropped = await run([...command, "--shown", "--before", "2000-01-01"], { cwd });
  expect(dropped.stdout).toBe("Nothing to drop of session one.\n");
  expect((await run([...command, "--before", "soon"], { cwd })).code).toBe(2);
  const done = await run([...command, "--shown", "--json"], { cwd });
  expect(jsonLines(done.stdout)).toMatchObject([{ drop: "reasoning", kept: { shown: 0 } }]);
  const verified = await run(["verify", "one"], { cwd });
  expect(verified).toMatchObject({ code: 0 });
  expect(verified.stdout).toMatch(/prompts? not checkable: reasoning was dropped/);
  expect((await run(["replay", "one", "--check"], { cwd })).code).toBe(0);
  expect((await run(["show", "one"], { cwd })).stdout).toContain("[reasoning dropped]");
});

describe.skipIf(!hasTerminals)("in a terminal", () => {
  it("asks first, and takes anything but a yes for a no", async () => {
    await using folder = await temporaryFolder({ "a.txt": "one" });
    const cwd = folder.path;
    await run(["--session", "one", "list the files"], { cwd });
    const command = ["trim", "one", "--drop", "boundaries", "--keep-steps", "0"];
    for (const [keys, code, left] of [
      ["\r", 130, true],
      ["y\r", 0, false],
    ] as const) {
      const asking = startInTerminal(command, { cwd });
      await asking.until(/Drop the boundaries of 2 steps of session one for good/);
      asking.type(keys);
      expect((await asking.ended).code).toBe(code);
      const { stdout } = await run([...command, "--dry-run", "--json"], { cwd });
      const [would] = jsonLines(stdout) as { events: number }[];
      expect((would?.events ?? 0) > 0).toBe(left);
    }
  });
});
