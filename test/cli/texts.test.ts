/** What is said of options and folders that cannot be used: each thing once, and by its own name. */

import { mkdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { folderKeys } from "../../src/store/encryption/index.ts";
import { storeFailure } from "../../src/store/leveldb/index.ts";
import { run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it("says of a number what it counts, and that it is too large where it is a number", async () => {
  await using folder = await temporaryFolder();
  for (const [args, said] of [
    [["show", "a", "--step", "0"], /Steps are counted from 1/],
    [["rerun", "a", "--step", "0"], /Steps are counted from 1/],
    [["show", "a", "--position", "0"], /Positions are counted from 1/],
    [["verify", "--every", "0"], /not a whole number above 0/],
    [
      ["show", "a", "--position", "99999999999999999999"],
      /too large: the maximum is 9007199254740991/,
    ],
    [["show", "a", "--position", "1.5"], /not a whole number\./],
  ] as const) {
    const { code, stderr } = await run(args, { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toMatch(said);
  }
});

it("says of a value that it is empty, or a pace too slow, wherever the value is from", async () => {
  await using folder = await temporaryFolder();
  for (const [args, env, said] of [
    [["serve", "--token", ""], {}, /--token .* is invalid\. It is empty\./],
    [["serve"], { TURNLOG_TOKEN: "" }, /TURNLOG_TOKEN.* is invalid\. It is empty\./],
    [["copy", "--from", "", "--to", "a"], {}, /--from .* is invalid\. It is empty\./],
    [["--pace", "1e-320", "hello"], {}, /--pace .* is invalid\. It is too slow\./],
  ] as const) {
    const { code, stderr } = await run(args, { cwd: folder.path, env });
    expect(stderr).toMatch(said);
    expect(code).toBe(2);
  }
});

it("tells a folder that is to be attached from a file that is not there", async () => {
  await using folder = await temporaryFolder();
  await mkdir(folder.at("some"));
  for (const [path, said] of [
    ["some", "--attach some: that is a folder."],
    ["none.png", "--attach none.png: there is no such file."],
  ] as const) {
    const { code, stderr } = await run(["--attach", path, "hello"], { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  }
});

it("gives the system's reason once, and names no session for what is no key of one", async () => {
  const denied = Object.assign(new Error("EACCES: permission denied, open '/a'"), {
    code: "EACCES",
  });
  expect(storeFailure(denied, "/a").message).toContain("(EACCES: permission denied, open '/a')");
  const corrupt = Object.assign(new Error("Database is not open"), { code: "LEVEL_CORRUPTION" });
  expect(storeFailure(corrupt, "/a").message).toContain("(LEVEL_CORRUPTION Database is not open)");

  await using folder = await temporaryFolder({ file: "" });
  const error: unknown = await folderKeys(folder.at("file/keys"))
    .load("-unfinished")
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "LOG_FAILED" });
  expect(error).not.toHaveProperty("session");
  expect(String(error)).toMatch(/The keys in \S+keys cannot be read or written: ENOTDIR/);
});

it("refuses an option that would do nothing, and says with what it goes", async () => {
  await using folder = await temporaryFolder();
  for (const [args, said] of [
    [["replay", "a", "--agent", "/nope.ts"], /--agent is only for a check: add --check/],
    [["replay", "a", "--max-gap", "1"], /add --pace recorded/],
    [["replay", "a", "--max-gap", "1", "--pace", "recorded", "--check"], /leave out --check/],
    [["show", "a", "--step", "1"], /add --view timeline/],
  ] as const) {
    const { code, stdout, stderr } = await run(args, { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(said);
  }
});
