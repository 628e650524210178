/** What a later release wrote is refused as that: never taken for damage, never changed, never repaired. */

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Level } from "level";
import { describe, expect, it } from "vitest";
import { repairLog, withChecksum } from "../../src/store/leveldb/index.ts";
import {
  newStore,
  readStoreFile,
  writeStoreFile,
} from "../../src/store/leveldb/files/store-file.ts";
import { storePaths } from "../../src/store/leveldb/files/store-files.ts";
import {
  createRuntime,
  encryptedLog,
  importSession,
  memoryKeys,
  openLog,
  openMemoryLog,
  TurnlogError,
  viewSession,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { numbered } from "../../src/testing/index.ts";
import { fingerprint, temporaryFolder } from "../store/leveldb/disk.ts";

/** As a later release may write anything: of it, only the number is the same. */
const later = { format: 2, said: ["in", { another: "way" }] };

/** Changes a store as a later release would have written it. */
const changes: Readonly<Record<string, (dir: string) => Promise<void>>> = {
  "store.json": async (dir) => {
    await writeFile(join(dir, "store.json"), JSON.stringify(later));
  },
  "store.json, which has all that it had": async (dir) => {
    const paths = storePaths(dir);
    await writeStoreFile(paths, { ...newStore, ...readStoreFile(paths), format: later.format });
  },
  "the first row, and store.json is older": async (dir) => {
    await writeFirstRow(dir);
  },
  "the first row, and there is no store.json": async (dir) => {
    await writeFirstRow(dir);
    await rm(join(dir, "store.json"));
  },
  "the first row, and a table is damaged": async (dir) => {
    await writeFirstRow(dir);
    const [table = ""] = Object.keys(await fingerprint(join(dir, "log"))).filter((name) =>
      name.endsWith(".ldb"),
    );
    const bytes = await readFile(join(dir, "log", table));
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    await writeFile(join(dir, "log", table), bytes);
  },
};

async function writeFirstRow(dir: string): Promise<void> {
  const level = new Level(join(dir, "log"));
  await level.put("m/format", withChecksum("m/format", later));
  await level.close();
}

async function aStore(): Promise<string> {
  const dir = await temporaryFolder();
  await using log = await openLog({ dir });
  await log.append("s", "none", [numbered(1), numbered(2)]);
  return dir;
}

async function refusal(doing: Promise<unknown>): Promise<TurnlogError> {
  const error: unknown = await doing.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!TurnlogError.isInstance(error)) throw new Error(`It was not refused: ${String(error)}`);
  return error;
}

describe.each(Object.keys(changes))("a store of a later format, by %s", (name) => {
  it("is neither opened nor repaired, and stays as it is", async () => {
    const dir = await aStore();
    await changes[name]?.(dir);
    const isDamaged = name.includes("damaged");
    const without = name.includes("no store.json");
    const before = await fingerprint(join(dir, "log"));
    const agent = { model: scriptedModel([]) };
    const doings = [
      () => repairLog({ dir }),
      ...(isDamaged || without
        ? []
        : [() => openLog({ dir }), () => createRuntime({ dir, agent })]),
    ];
    for (const doing of doings) {
      const error = await refusal(doing());
      expect(error).toMatchObject({ code: "LOG_TOO_NEW", details: { format: 2 } });
      expect(error.message).toContain("written by a later release");
      expect(await fingerprint(join(dir, "log"))).toEqual(before);
    }
  });
});

describe("keys of a later format", () => {
  it("are refused as that, with the session that they are of", async () => {
    const [stored, keys] = [await openMemoryLog(), memoryKeys()];
    await encryptedLog(stored, keys).append("s", "none", [numbered(1)]);
    const key = { ...later, turnlog: "session-key" };
    await keys.save("s", JSON.stringify(key));
    const error = await refusal(viewSession(encryptedLog(stored, keys), "s"));
    expect(error).toMatchObject({ code: "LOG_TOO_NEW", session: "s", details: { format: 2 } });
    expect(await keys.load("s")).toBe(JSON.stringify(key));
  });

  it("are left alone where it is what was to be erased that a later release noted", async () => {
    const [stored, keys] = [await openMemoryLog(), memoryKeys()];
    await encryptedLog(stored, keys).append("s", "none", [numbered(1)]);
    await keys.save("-unfinished", JSON.stringify({ ...later, turnlog: "unfinished-erasures" }));
    const error = await refusal(viewSession(encryptedLog(stored, keys), "s"));
    expect(error).toMatchObject({ code: "LOG_TOO_NEW", details: { format: 2 } });
  });
});

describe("an exported session of a later format", () => {
  it("is refused as that, whatever else its first line says", async () => {
    await using log = await openMemoryLog();
    const header = JSON.stringify({ ...later, turnlog: "session", format: 9 });
    const error = await refusal(importSession(log, [header, "what follows"]));
    expect(error).toMatchObject({ code: "EVENT_TOO_NEW", details: { format: 9 } });
    expect(error.message).toContain("written by a later release");
  });
});
