/** Files that a user names: what `export --out` and `--fixture` do with an existing file. */

import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, readlink, stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { createReadStream } from "node:fs";
import { describe, expect, it } from "vitest";
import { openLog } from "../../src/public/index.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { run, runProcess, start } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

async function folderWithSession(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  await using log = await openLog({ dir: folder.at(".turnlog"), durability: "os" });
  await log.append("one", "none", await readFixture("parallel"));
  return folder;
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe.skipIf(process.platform === "win32")("a file that is named to be written", () => {
  it("is written where its links lead to, and the links stay", async () => {
    await using folder = await folderWithSession();
    const at = { cwd: folder.path };
    const { stdout: exported } = await run(["export", "one"], at);
    await folder.write("kept/real.jsonl", "before\n");
    await folder.link("second.jsonl", "kept/real.jsonl");
    await folder.link("first.jsonl", "second.jsonl");
    expect(await run(["export", "one", "--out", "first.jsonl"], at)).toMatchObject({ code: 0 });
    expect(await readFile(folder.at("kept/real.jsonl"), "utf8")).toBe(exported);
    expect(await readlink(folder.at("first.jsonl"))).toBe("second.jsonl");
    expect(await readlink(folder.at("second.jsonl"))).toBe("kept/real.jsonl");
    expect(await readdir(folder.at("kept"))).toEqual(["real.jsonl"]);

    // Of a link to nothing the file is made that it names.
    await folder.link("new.jsonl", "kept/new.jsonl");
    const fixture = await run(["export", "one", "--fixture", "new.jsonl"], at);
    expect(fixture).toMatchObject({ code: 0 });
    expect(await readlink(folder.at("new.jsonl"))).toBe("kept/new.jsonl");
    expect(await readFile(folder.at("kept/new.jsonl"), "utf8")).toContain('"fixture"');
  });

  it("keeps the mode that it had, and a new one is for its owner alone", async () => {
    await using folder = await folderWithSession();
    const at = { cwd: folder.path };
    await folder.write("mine.jsonl", "before\n");
    for (const mode of [0o600, 0o666]) {
      await chmod(folder.at("mine.jsonl"), mode);
      expect(await run(["export", "one", "--out", "mine.jsonl"], at)).toMatchObject({ code: 0 });
      expect(await modeOf(folder.at("mine.jsonl"))).toBe(mode);
    }
    await run(["export", "one", "--out", "new.jsonl"], at);
    expect(await modeOf(folder.at("new.jsonl"))).toBe(0o600);
  });

  it("is written straight into where it is no regular file, which stays what it is", async () => {
    await using folder = await folderWithSession();
    const at = { cwd: folder.path };
    const { stdout: exported } = await run(["export", "one"], at);
    execFileSync("mkfifo", [folder.at("pipe")]);
    await folder.link("to-pipe", "pipe");
    for (const name of ["pipe", "to-pipe"]) {
      const writing = start(["export", "one", "--out", name], at);
      expect(await text(createReadStream(folder.at("pipe")))).toBe(exported);
      expect(await writing.ended).toMatchObject({ code: 0 });
      expect((await stat(folder.at("pipe"))).isFIFO()).toBe(true);
    }
    expect((await readdir(folder.path)).toSorted()).toEqual([".turnlog", "pipe", "to-pipe"]);
  });

  it.skipIf(process.platform !== "linux")(
    "may be stdout, which continues where it was",
    async () => {
      await using folder = await folderWithSession();
      const at = { cwd: folder.path };
      const { stdout: exported } = await run(["export", "one"], at);
      // As /dev/stdout is one, which nothing that is broken shall get hold of.
      await folder.link("stdout", "/proc/self/fd/1");
      for (const name of ["stdout", "/dev/fd/1"]) {
        const { code, stdout } = await runProcess(["export", "one", "--out", name], at);
        expect({ code, stdout }).toEqual({ code: 0, stdout: exported });
      }
      expect(await readlink(folder.at("stdout"))).toBe("/proc/self/fd/1");
    },
  );

  it("cannot be a folder, nor lie in one that is not there", async () => {
    await using folder = await folderWithSession();
    const at = { cwd: folder.path };
    await mkdir(folder.at("some"));
    const into = await run(["export", "one", "--out", "some"], at);
    expect(into).toMatchObject({ code: 2, stdout: "" });
    expect(into.stderr).toMatch(/^error: some is a folder: name a file in it/);
    const nowhere = await run(["export", "one", "--fixture", "none/a.jsonl"], at);
    expect(nowhere).toMatchObject({ code: 2, stdout: "" });
    expect(nowhere.stderr).toMatch(/^error: none\/a\.jsonl cannot be written: there is no folder/);
    expect((await readdir(folder.path)).toSorted()).toEqual([".turnlog", "some"]);
  });
});
