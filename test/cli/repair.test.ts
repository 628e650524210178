/** `repair`, on a store that was really damaged. */
import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

async function storeWithATurn(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder({ "a.ts": "zod\n" });
  await run(["--session", "one", "which files mention zod?"], { cwd: folder.path });
  return folder;
}

describe("repair", () => {
  it("says that a sound store is sound, and what it holds", async () => {
    await using folder = await storeWithATurn();
    const { code, stdout } = await run(["repair"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toMatch(/is sound: 1 session with \d+ events\. Nothing was changed\.\n$/);
    const { stdout: json } = await run(["repair", "--json"], { cwd: folder.path });
    expect(jsonLines(json)).toMatchObject([{ changed: false, sessions: 1, lost: [] }]);
  });

  it("mends a store that cannot be opened, says what was wrong and where the damaged files are", async () => {
    await using folder = await storeWithATurn();
    const before = await run(["show", "one", "--json"], { cwd: folder.path });
    await rm(folder.at(".turnlog/log/CURRENT"));
    const refused = await run(["sessions"], { cwd: folder.path });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/turnlog repair.*\[LOG_DAMAGED\]/);

    const repaired = await run(["repair"], { cwd: folder.path });
    expect(repaired.code).toBe(0);
    expect(repaired.stdout).toMatch(/was damaged:\n.*CURRENT/);
    expect(repaired.stdout).toContain("No event was lost.");
    expect(repaired.stdout).toContain("log.damaged-1");
    expect(await run(["show", "one", "--json"], { cwd: folder.path })).toEqual(before);
  });

  it("with --json tells the whole report", async () => {
    await using folder = await storeWithATurn();
    await rm(folder.at(".turnlog/log/CURRENT"));
    const { stdout } = await run(["repair", "--json"], { cwd: folder.path });
    const [report] = z
      .tuple([z.looseObject({ changed: z.literal(true), findings: z.array(z.string()).min(1) })])
      .parse(jsonLines(stdout));
    expect(report).toMatchObject({ sessions: 1, lost: [], quarantined: 0 });
  });
});
