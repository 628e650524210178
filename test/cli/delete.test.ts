/** `turnlog delete`: asked in a terminal, said by `--yes` elsewhere, and for good. */

import { describe, expect, it } from "vitest";
import { jsonLines, run } from "./command-line.ts";
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
  await run(["fork", "one", "--as", "two"], { cwd });
  const before = await run(["show", "two", "--json"], { cwd });
  const refused = await run(["delete", "one", "--yes"], { cwd });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/two.*--forks copy.*\[SESSION_HAS_FORKS\]/s);
  const deleted = await run(["delete", "one", "--yes", "--forks", "copy"], { cwd });
  expect(deleted.stdout).toMatch(/is gone for good: \d+ events\. Copied first into: two\.\n/);
  expect(await run(["show", "two", "--json"], { cwd })).toEqual(before);
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  expect(await run(["--session", "two", "list the files"], { cwd })).toMatchObject({ code: 0 });
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  expect((await run(["backup", "copy"], { cwd })).code).toBe(0);
  expect(await run(["--dir", "copy", "verify"], { cwd })).toMatchObject({ code: 0 });
});

describe.skipIf(!hasTerminals)("in a terminal", () => {
  it("asks first, and takes anything but a yes for a no", async () => {
    await using folder = await temporaryFolder({});
    const cwd = folder.path;
    await run(["--session", "one", "hello"], { cwd });
    for (const [keys, code, left] of [
      ["\r", 130, 1],
      ["n", 130, 1],
      ["\u0003", 130, 1],
      ["\u0004", 130, 1],
      ["y", 0, 0],
    ] as const) {
      const asking = startInTerminal(["delete", "one"], { cwd });
      await asking.until(/Delete session one with its \d+ events for good\?/);
      asking.type(keys);
      const ended = await asking.ended;
      expect({ keys, code: ended.code }).toEqual({ keys, code });
      expect(ended.screen.includes("Nothing was deleted.")).toBe(code === 130);
      const { stdout } = await run(["sessions", "--json"], { cwd });
      expect(jsonLines(stdout)).toHaveLength(left);
    }
  });
});
