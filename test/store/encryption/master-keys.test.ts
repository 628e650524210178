/** Master keys: the keys of sessions are wrapped, and a new master key wraps them anew, whenever it is stopped. */

import { randomBytes } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  createRuntime,
  folderKeys,
  masterKeys,
  memoryKeys,
  openMemoryLog,
  type EventLog,
  type KeyStore,
} from "../../../src/public/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { UNFINISHED } from "../../../src/store/encryption/key-store.ts";
import { keyStoreContract } from "../../../src/testing/index.ts";
import { temporaryFolder } from "../../cli/temporary-folder.ts";
import { ask } from "../../support/asking.ts";
import { storedEvents } from "../../support/replay.ts";

const [first, second] = [randomBytes(32), randomBytes(32)];
const agent = { model: scriptedModel(() => "The secret is kept.") };

keyStoreContract("wrapped by a master key", {
  describe,
  it,
  open: async () => masterKeys(memoryKeys(), { current: first }),
});

async function talk(log: EventLog, keys: KeyStore, sessions: readonly string[]): Promise<void> {
  await using runtime = await createRuntime({ log, agent, encryption: { keys } });
  for (const id of sessions) await ask(await runtime.session(id), "What is the secret?");
}

async function titles(log: EventLog, keys: KeyStore): Promise<readonly string[]> {
  await using runtime = await createRuntime({ log, agent, encryption: { keys } });
  const rows = await Array.fromAsync(runtime.sessions());
  return rows.map(({ title, problem }) => problem?.code ?? title);
}

/** Keys that cannot be saved any more after some saves, as when the process dies. */
function mortal(keys: KeyStore, saves: number): KeyStore {
  let left = saves;
  return {
    ...keys,
    save: async (name, text) => {
      if (left === 0) throw new Error("The process is dead.");
      left -= 1;
      await keys.save(name, text);
    },
  };
}

it("no file of the keys has a secret, and one master key does not read what another wrapped", async () => {
  await using folder = await temporaryFolder({});
  const [log, plain] = [await openMemoryLog(), memoryKeys()];
  const kept = { ...folderKeys(folder.at("keys")) };
  const both: KeyStore = {
    ...kept,
    save: async (name, text) => {
      await plain.save(name, text);
      await kept.save(name, text);
    },
  };
  await talk(log, masterKeys(both, { current: first }), ["a"]);
  for (const file of await readdir(folder.at("keys"))) {
    const text = await readFile(folder.at(`keys/${file}`), "utf8");
    expect(JSON.parse(text)).toMatchObject({ turnlog: "wrapped-key" });
    expect(text).not.toContain("nodes");
  }
  expect(await titles(log, masterKeys(kept, { current: first }))).toEqual(["What is the secret?"]);
  expect(await titles(log, masterKeys(kept, { current: second }))).toEqual(["KEY_WRONG"]);
  // A text that was put under another name, or changed.
  const text = (await kept.load("a")) ?? "";
  await kept.save("b", text);
  await expect(masterKeys(kept, { current: first }).load("b")).rejects.toMatchObject({
    code: "KEY_WRONG",
  });
});

it("a rotation that dies at any key is taken up again, and the content stays as it is", async () => {
  const names = ["a", "b", "c"];
  for (let saves = 0; saves <= names.length; saves++) {
    const [log, kept] = [await openMemoryLog(), memoryKeys()];
    await talk(log, masterKeys(kept, { current: first }), names);
    const before = await Promise.all(names.map((name) => storedEvents(log, name)));
    const both = { current: second, previous: [first] };
    const dying = masterKeys(mortal(kept, saves), both).rotate(log);
    const outcome = await dying.catch((error: unknown) => String(error));
    const dies = saves < names.length;
    expect(outcome).toEqual(dies ? "Error: The process is dead." : { keys: 3, rotated: 3 });
    const says = names.map(() => "What is the secret?");
    expect(await titles(log, masterKeys(kept, both))).toEqual(says);
    const again = await masterKeys(kept, both).rotate(log);
    expect(again).toEqual({ keys: 3, rotated: names.length - saves });
    expect(await titles(log, masterKeys(kept, { current: second }))).toEqual(says);
    expect(await Promise.all(names.map((name) => storedEvents(log, name)))).toEqual(before);
  }
});

it("keys from before there was a master key are read, and wrapped by a rotation", async () => {
  const [log, kept] = [await openMemoryLog(), memoryKeys()];
  await talk(log, kept, ["a"]);
  const keys = masterKeys(kept, { current: first });
  expect(await titles(log, keys)).toEqual(["What is the secret?"]);
  expect(await keys.rotate(log)).toEqual({ keys: 1, rotated: 1 });
  expect(await kept.load("a")).toContain("wrapped-key");
  expect(await titles(log, keys)).toEqual(["What is the secret?"]);
});

it("a rotation wraps the list of unfinished erasures too, which a dead process left", async () => {
  const [log, kept] = [await openMemoryLog(), memoryKeys()];
  await talk(log, masterKeys(kept, { current: first }), ["a"]);
  const list = JSON.stringify({ turnlog: "unfinished-erasures", sessions: ["a"] });
  await masterKeys(kept, { current: first }).save(UNFINISHED, list);
  await masterKeys(kept, { current: second, previous: [first] }).rotate(log);
  const keys = masterKeys(kept, { current: second });
  expect(await keys.load(UNFINISHED)).toBe(list);
  expect(await titles(log, keys)).toEqual(["What is the secret?"]);
});

it("a rotation beside running sessions brings no erased key back", async () => {
  const [log, kept] = [await openMemoryLog(), memoryKeys()];
  await talk(log, masterKeys(kept, { current: first }), ["a"]);
  const keys = masterKeys(kept, { current: second, previous: [first] });
  {
    await using runtime = await createRuntime({ log, agent, encryption: { keys } });
    const session = await runtime.session("a");
    const message = (await session.view()).history.find(({ kind }) => kind === "user");
    await Promise.all([
      keys.rotate(log),
      session.redact(
        (await storedEvents(log, "a")).find(({ type }) => type === "message.queued")?.position ?? 0,
      ),
      keys.rotate(log),
    ]);
    expect(message).toBeDefined();
  }
  expect(await titles(log, masterKeys(kept, { current: second }))).toEqual(["[redacted]"]);
});
