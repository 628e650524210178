/** A command that looks leaves the store as a killed process left it, and is refused while it has an owner. */
import { expect, it } from "vitest";
import { openLog } from "../../src/public/index.ts";
import { fingerprint } from "../store/leveldb/disk.ts";
import { run, start } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const looks = [
  ["sessions"],
  ["show", "s"],
  ["show", "s", "--view", "prompt"],
  ["verify"],
  ["log"],
  ["context", "s"],
  ["export", "s"],
  ["diff", "s", "1", "5"],
  ["replay", "s"],
  ["replay", "s", "--check"],
  ["backup", "../copy"],
] as const;

it("appends, repairs, restores and erases nothing", async () => {
  await using folder = await temporaryFolder();
  await folder.write("in/a.ts", "zod");
  const cwd = folder.at("in");
  await run(["--session", "s", "hello"], { cwd });
  const args = ["--session", "s", "--pace", "human", "which files mention zod?"];
  const chat = start(args, { cwd });
  await chat.until("stdout", /./);
  chat.child.kill("SIGKILL");
  await chat.ended;
  const before = await fingerprint(folder.at("in/.turnlog"));
  for (const look of looks) {
    const { code, stderr } = await run(look, { cwd });
    expect(code, `${look.join(" ")}: ${stderr}`).toBeLessThan(2);
    expect(await fingerprint(folder.at("in/.turnlog")), look.join(" ")).toEqual(before);
  }
  await using log = await openLog({ dir: folder.at("in/.turnlog") });
  const owned = await fingerprint(folder.at("in/.turnlog"));
  for (const look of looks) {
    const { code, stderr } = await run(look, { cwd });
    expect({ code, locked: stderr.includes("[LOG_LOCKED]") }, look.join(" ")).toEqual({
      code: 1,
      locked: true,
    });
  }
  expect(await fingerprint(folder.at("in/.turnlog"))).toEqual(owned);
  await log.close();
});
