/** `verify`: exit code 0 for a sound store, 1 and the place for one that is not. */

import { join } from "node:path";
import { Level } from "level";
import { describe, expect, it } from "vitest";
import { openLog } from "../../src/public/index.ts";
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

  it("ends with 1 when it is the store that has a problem, and every session is sound", async () => {
    await using folder = await folderWithStore();
    {
      await using store = new Level(join(folder.at(".turnlog"), "log"));
      // Of a session that was deleted, the number of its positions is known: this gap is not one of them.
      await store.put("d/none", "not what anybody wrote");
    }
    const { code, stdout } = await run(["verify"], { cwd: folder.path });
    expect(stdout).toMatch(/^the store: /m);
    expect(stdout.match(/: sound$/gm)).toHaveLength(2);
    expect(code).toBe(1);
    const json = await run(["verify", "--json"], { cwd: folder.path });
    expect(json.code).toBe(1);
    expect(jsonLines(json.stdout)[0]).toMatchObject({ problems: [{ position: 0 }] });
  });

  it("refuses a session that does not exist, and a sample of nothing", async () => {
    await using folder = await folderWithStore();
    const nobody = await run(["verify", "nobody"], { cwd: folder.path });
    expect(nobody).toMatchObject({ code: 1, stdout: "" });
    expect(nobody.stderr).toContain("[SESSION_NOT_FOUND]");
    expect(await run(["verify", "--every", "0"], { cwd: folder.path })).toMatchObject({ code: 2 });
  });

  it("tells the end of a hash chain, and holds a session against one that was noted", async () => {
    await using folder = await temporaryFolder({});
    const cwd = folder.path;
    await run(["--session", "one", "--hash-chain", "hello"], { cwd });
    const { code, stdout } = await run(["verify"], { cwd });
    expect(code).toBe(0);
    const [, events, noted = ""] =
      /^one: (\d+) events, 1 prompt: sound\n {2}chained up to (\d+:[0-9a-f]{64})\n$/.exec(stdout) ??
      [];
    expect(noted.split(":")[0]).toBe(events);
    expect(await run(["verify", "one", "--chain", noted], { cwd })).toMatchObject({ code: 0 });
    // Without the option nothing is added to it.
    await run(["--session", "one", "hello again"], { cwd });
    const later = await run(["verify", "one", "--chain", noted], { cwd });
    expect(later.code).toBe(0);
    expect(later.stdout).toMatch(/ {2}chained up to \d+:[0-9a-f]{64}, \d+ events since$/m);
    const other = noted.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
    const refuted = await run(["verify", "one", "--chain", other, "--json"], { cwd });
    expect(refuted.code).toBe(1);
    expect(jsonLines(refuted.stdout)).toMatchObject([
      { problems: [{ rule: "chain", position: Number(events) }] },
    ]);
    expect(await run(["verify", "one", "--chain", "7"], { cwd })).toMatchObject({ code: 2 });
    expect(await run(["verify", "--chain", noted], { cwd })).toMatchObject({ code: 2 });
  });
});
