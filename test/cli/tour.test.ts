/** The tour as a visitor runs it: processes of their own, one of which is killed. */
import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { run, runProcess } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it("the tour kills its own process, continues from the log, and leaves nothing behind", async () => {
  await using folder = await temporaryFolder({ "a.ts": "" });
  await using temporary = await temporaryFolder();
  const env = { TMPDIR: temporary.path };
  const { code, stderr } = await runProcess(["--demo", "--pace", "at-once"], {
    cwd: folder.path,
    env,
  });
  expect(stderr).toMatch(
    /✗ Process (\d+) is dead: SIGKILL[^]*5\. Process (?!\1)\d+ opens the store/,
  );
  // The message that steers is answered in the same turn.
  expect(stderr).toMatch(/\(Tab\)\n[^]*→ list_files path="\." recursive=true[^]*\n4\. kill -9/);
  expect(stderr).toMatch(
    /there are 2 branches[^]*Compaction[^]*at 5: 1 turn, a prompt of 1 message\n[^]*every law holds/,
  );
  // The reply continues from the word where it stopped.
  expect(stderr).toMatch(
    /opens the store[^]*I have what I need to answer\.\n(?!.*I do not understand)/,
  );
  expect(code).toBe(0);
  expect(await readdir(temporary.path)).toEqual([]);
  expect(await readdir(folder.path)).toEqual(["a.ts"]);
});

it("the tour is given alone", async () => {
  const { code, stderr } = await run(["--demo", "hello"], { cwd: "." });
  expect(code).toBe(2);
  expect(stderr).toContain("--demo has its own messages and model: use it alone.");
});
