/** A key is as it was, replaced or erased, wherever its process dies in its folder. */
import { existsSync } from "node:fs";
import type * as Files from "node:fs/promises";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { folderKeys } from "../../../../src/store/encryption/folder-keys.ts";

const { death } = await vi.hoisted(async () => {
  const { Death } = await import("../dying-folder.ts");
  return { death: new Death() };
});

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof Files>();
  return { ...real, ...death.watched(real) };
});

const root = await mkdtemp(join(tmpdir(), "turnlog-dying-keys-"));
afterAll(() => rm(root, { recursive: true, force: true }));

it.each(["s", "-unfinished"])("the key of %s", async (session) => {
  for (const [what, after] of [
    ["replaced", "second"],
    ["erased", undefined],
  ] as const) {
    let hasDied = true;
    for (let at = 1; hasDied; at++) {
      const folder = join(root, `${session}-${what}-${at}`);
      const keys = folderKeys(folder);
      await keys.save(session, "first");
      death.comes(at);
      const act = after === undefined ? keys.erase(session) : keys.save(session, after);
      hasDied = await act.then(
        () => false,
        () => true,
      );
      death.stays();
      expect(["first", after], `${what}, ${at}`).toContain(await folderKeys(folder).load(session));
      await folderKeys(folder).erase(session);
      expect(existsSync(folder) && (await readdir(folder))).toEqual([]);
    }
    expect(death.changes).toBeGreaterThan(3);
  }
});
