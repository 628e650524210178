/** Where keys are kept: in memory, and as files. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { folderKeys, memoryKeys, type KeyStore } from "../../../src/events/encryption/index.ts";
import { keyStoreContract } from "../../../src/testing/index.ts";

const root = await mkdtemp(join(tmpdir(), "turnlog-keys-"));
afterAll(() => rm(root, { recursive: true, force: true }));

keyStoreContract("in memory", { describe, it, open: async () => memoryKeys() });

let folders = 0;
const folderOf = new WeakMap<KeyStore, string>();
function openFolder(folder: string): KeyStore {
  const keys = folderKeys(folder);
  folderOf.set(keys, folder);
  return keys;
}
keyStoreContract("in a folder", {
  describe,
  it,
  open: async () => openFolder(join(root, `keys-${folders++}`)),
  reopen: async (keys) => openFolder(folderOf.get(keys) ?? ""),
});

it("keeps files that their owner alone can read, and nothing else beside them", async () => {
  const folder = join(root, "modes");
  const keys = folderKeys(folder);
  await keys.save("s", "secret");
  await keys.save("s", "other");
  expect(await readdir(folder)).toEqual(["s.key"]);
  expect((await stat(join(folder, "s.key"))).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

it("leaves nothing of a key that was replaced or erased, in a draft that a dead process left neither", async () => {
  const folder = join(root, "drafts");
  const keys = folderKeys(folder);
  await keys.save("s", "first");
  await writeFile(join(folder, "s.key.new"), "half of a k");
  await keys.save("s", "second");
  expect(await readdir(folder)).toEqual(["s.key"]);
  expect(await readFile(join(folder, "s.key"), "utf8")).toBe("second");
  await writeFile(join(folder, "s.key.new"), "half of a k");
  await keys.erase("s");
  expect(await readdir(folder)).toEqual([]);
});
