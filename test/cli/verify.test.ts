/** `verify`: exit code 0 for a sound store, 1 and the place for one that is not. */

import { join } from "node:path";
import { Level } from "level";
import { describe, expect, it } from "vitest";
import { openLog } from "../../src/index.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

/** A folder with a store of two sessions. */
async function folderWithStore(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  await using log = await openLog({ dir: folder.at(".turnlog") });
  await log.append("one", "none", await readFixture("tools"));
  await log.append("two", "none", await readFixture("long-talk"));
  return folder;
}

describe("verify", () => {
  it("says of every session that it is sound, and how much was checked", async () => {
    await using folder = await folderWithStore();
    const { code, stdout } = await run(["verify", "--every", "1"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^one: \d+ events, \d+ prompts: sound\ntwo: \d+ events, \d+ prompts: sound\n$/,
    );
    const one = await run(["verify", "one", "--json"], { cwd: folder.path });
    expect(one.code).toBe(0);
    expect(jsonLines(one.stdout)).toMatchObject([{ session: "one", problems: [] }]);
  });

  it("ends with 1 and says what is wrong where", async () => {
    await using folder = await folderWithStore();
    {
      await using store = new Level(join(folder.at(".turnlog"), "log"));
      const row = (await store.get("e/two/00000000a")) ?? "";
      await store.put("e/two/00000000a", row.replace(/\}\]$/, ',"x":1}]'));
    }
    const { code, stdout } = await run(["verify"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^one: .* sound$/m);
    expect(stdout).toMatch(/^two: 9 events, .*: 1 problem\n {2}at 10, readable: .*checksum/m);
    const json = await run(["verify", "--json", "two"], { cwd: folder.path });
    expect(json.code).toBe(1);
    expect(jsonLines(json.stdout)).toMatchObject([
      { session: "two", problems: [{ position: 10, rule: "readable" }] },
    ]);
  });

  it("refuses a session that there is not, and a sample of nothing", async () => {
    await using folder = await folderWithStore();
    const nobody = await run(["verify", "nobody"], { cwd: folder.path });
    expect(nobody).toMatchObject({ code: 1, stdout: "" });
    expect(nobody.stderr).toContain("[SESSION_NOT_FOUND]");
    expect(await run(["verify", "--every", "0"], { cwd: folder.path })).toMatchObject({ code: 2 });
  });
});
