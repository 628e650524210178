/** Where keys are kept: in memory, and as files. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { encryptedLog } from "../../../src/store/encryption/encrypting-log.ts";
import { folderKeys } from "../../../src/store/encryption/folder-keys.ts";
import { memoryKeys, type KeyStore } from "../../../src/store/encryption/key-store.ts";
import { createRuntime, openLog } from "../../../src/public/index.ts";
import { keyStoreContract } from "../../../src/testing/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";

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

it("is refused inside the store's folder, before anything is written there", async () => {
  const folder = join(root, "inside");
  const [dir, agent] = [join(folder, "store"), { model: scriptedModel([]) }];
  const runtime = (keys: KeyStore) => createRuntime({ dir, agent, encryption: { keys } });
  await mkdir(folder);
  await symlink(join(folder, "store"), join(folder, "link"));
  const inside = ["store", "store/keys", "store/a/b", "link/keys"].map((name) =>
    folderKeys(join(folder, name)),
  );
  for (const keys of inside)
    await expect(runtime(keys)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  expect(await readdir(folder)).toEqual(["link"]);
  await using log = await openLog({ dir });
  for (const keys of inside) {
    const given = createRuntime({ log, agent, encryption: { keys } });
    await expect(given).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(() => encryptedLog(log, keys)).toThrow(/must be outside of the store/);
  }
  await log.close();
  await (await runtime(folderKeys(join(folder, "store-keys")))).close();
  await (await runtime(memoryKeys())).close();
});

it("keeps the keys of sessions apart whose ids look like folders, or are longer than a file's name", async () => {
  const folder = join(root, "paths");
  const keys = folderKeys(folder);
  const ids = ["a/b", "a=002fb", "a", "a/../b", "a".repeat(512), `${"a".repeat(511)}b`];
  for (const id of ids) await keys.save(id, id);
  for (const id of ids) expect(await keys.load(id)).toBe(id);
  expect(await readdir(folder)).toHaveLength(ids.length);
  for (const id of ids) await keys.erase(id);
  expect(await readdir(folder)).toEqual([]);
});
