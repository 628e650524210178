/** Where keys are kept: in memory, and as files. */
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { encryptedLog } from "../../../src/store/encryption/encrypting-log.ts";
import { folderKeys } from "../../../src/store/encryption/folder-keys.ts";
import { memoryKeys, type KeyStore } from "../../../src/store/encryption/key-store.ts";
import { createRuntime, masterKeys, openLog, openMemoryLog } from "../../../src/public/index.ts";
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
    expect(() => encryptedLog(log, keys)).toThrow(/must be outside the store/);
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

describe("keys of sessions with a colon, which release 0.1 kept under the name of others", () => {
  let folder = "";
  const files = async (): Promise<string[]> => (await readdir(folder)).toSorted();
  const textOf = async (name: string): Promise<string> =>
    await readFile(join(folder, name), "utf8");
  const keyOf = (session: string, text: string): string => JSON.stringify({ session, text });
  /** The folder as release 0.1 left it, with the key of one session. */
  async function older(session: string, text = keyOf(session, "old")): Promise<KeyStore> {
    folder = join(root, `older-${folders++}`);
    await mkdir(folder);
    await writeFile(join(folder, "a+cb.key"), text);
    return folderKeys(folder);
  }

  it("are read, and get a file of their own when they are saved", async () => {
    const keys = await older("a:b");
    expect(await keys.load("a:b")).toBe(keyOf("a:b", "old"));
    expect(await keys.load("aCb")).toBeUndefined();
    expect(await files()).toEqual(["a+cb.key"]);
    await keys.save("a:b", keyOf("a:b", "new"));
    expect(await files()).toEqual(["a+0b.key"]);
    expect(await textOf("a+0b.key")).toBe(keyOf("a:b", "new"));
  });

  it("are not replaced by the key of the other session", async () => {
    const keys = await older("a:b");
    await Promise.all([keys.save("aCb", keyOf("aCb", "new")), keys.load("a:b")]);
    expect(await keys.load("a:b")).toBe(keyOf("a:b", "old"));
    expect(await keys.load("aCb")).toBe(keyOf("aCb", "new"));
    expect(await files()).toEqual(["a+0b.key", "a+cb.key"]);
  });

  it("are erased, and those of the other session are not", async () => {
    const keys = await older("a:b");
    await keys.erase("aCb");
    expect(await keys.load("a:b")).toBe(keyOf("a:b", "old"));
    await keys.erase("a:b");
    expect(await files()).toEqual([]);
    const others = await older("aCb");
    await others.erase("a:b");
    expect(await others.load("a:b")).toBeUndefined();
    expect(await others.load("aCb")).toBe(keyOf("aCb", "old"));
  });

  it("are those of the session that asks if their text names none, as one that was wrapped", async () => {
    const keys = await older("a:b", "a text of a key service");
    expect(await keys.load("a:b")).toBe("a text of a key service");
    await keys.save("a:b", "another");
    expect(await files()).toEqual(["a+0b.key"]);
  });
});

describe("sessions whose ids differ in a colon and a C only", () => {
  const message = (session: string) => ({
    type: "message.queued" as const,
    time: 1,
    data: { id: session, content: `Of ${session}.`, delivery: "steer" as const },
  });
  const current = new Uint8Array(32);

  it.each([
    ["plain", (folder: string) => folderKeys(folder)],
    ["wrapped", (folder: string) => masterKeys(folderKeys(folder), { current })],
  ])("are encrypted side by side, and one of them is deleted: %s keys", async (name, open) => {
    const keys = open(join(root, `twins-${name}`));
    await using stored = await openMemoryLog();
    const log = encryptedLog(stored, keys);
    for (const session of ["a:b", "aCb"]) await log.append(session, 0, [message(session)]);
    await log.delete("a:b");
    const left = await Array.fromAsync(encryptedLog(stored, keys).read("aCb"));
    expect(left).toMatchObject([{ data: { content: "Of aCb." } }]);
    expect(await keys.load("a:b")).toBeUndefined();
  });

  it("go on in a store of release 0.1, which had the key of one of them", async () => {
    const folder = join(root, "release-0.1");
    await using stored = await openMemoryLog();
    await encryptedLog(stored, folderKeys(folder)).append("a:b", 0, [message("a:b")]);
    await rename(join(folder, "a+0b.key"), join(folder, "a+cb.key"));
    const log = encryptedLog(stored, folderKeys(folder));
    expect(await Array.fromAsync(log.read("a:b"))).toMatchObject([
      { data: { content: "Of a:b." } },
    ]);
    await log.append("aCb", 0, [message("aCb")]);
    await log.append("a:b", 1, [{ ...message("a:b"), data: { ...message("a:b").data, id: "2" } }]);
    const again = encryptedLog(stored, folderKeys(folder));
    expect(await Array.fromAsync(again.read("a:b"))).toHaveLength(2);
    expect(await readdir(folder)).toEqual(["a+0b.key", "a+cb.key"]);
    await again.delete("a:b");
    await again.delete("aCb");
    expect(await readdir(folder)).toEqual([]);
  });
});
