/** The promises of an event log, on every implementation that we have. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Level } from "level";
import { afterAll, describe, it } from "vitest";
import { encryptedLog, folderKeys, memoryKeys } from "../../src/store/encryption/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { openLog, openMemoryLog, type Durability } from "../../src/store/leveldb/index.ts";
import { openSqliteLog } from "../../src/store/sqlite/index.ts";
import { eventLogContract, ownershipContract } from "../../src/testing/index.ts";
import { all, sampled } from "../support/runs.ts";
import { openOver } from "../store/leveldb/faulty-database.ts";

const root = await mkdtemp(join(tmpdir(), "turnlog-contract-"));
afterAll(() => rm(root, { recursive: true, force: true }));

ownershipContract("in memory", { describe, it, open: openMemoryLog });

eventLogContract("in memory", { describe, it, open: openMemoryLog });

let databases = 0;
let operations = 0;
eventLogContract("on a LevelDB whose every operation takes its time", {
  describe,
  it,
  open: async () => {
    const rows = new Level(join(root, `slow-${databases++}`));
    const { log } = await openOver(rows, async () => {
      for (let turn = operations++ % 4; turn > 0; turn--)
        await new Promise((resolve) => setImmediate(resolve));
    });
    return log;
  },
});

const stored: Readonly<
  Record<string, (path: string, durability: Durability) => Promise<EventLog>>
> = {
  LevelDB: (dir, durability) => openLog({ dir, durability }),
  SQLite: (file, durability) => openSqliteLog({ file, durability }),
};
for (const [engine, openAt] of Object.entries(stored))
  for (const durability of sampled(["sync", "os"] satisfies Durability[], 1)) {
    const paths = new WeakMap<EventLog, string>();
    let count = 0;
    const openIn = async (path: string): Promise<EventLog> => {
      const log = await openAt(path, durability);
      paths.set(log, path);
      return log;
    };
    eventLogContract(`on ${engine}, durability ${durability}`, {
      describe,
      it,
      open: () => openIn(join(root, `${engine}-${durability}-${count++}`)),
      reopen: (log) => openIn(paths.get(log) ?? ""),
    });
  }

eventLogContract("encrypted, in memory", {
  describe,
  it,
  open: async () => encryptedLog(await openMemoryLog(), memoryKeys()),
});

// Its encryption is that of the one before, its log that of LevelDB above.
if (all) {
  const encrypted = new WeakMap<EventLog, string>();
  const openEncrypted = async (name: string): Promise<EventLog> => {
    const store = await openLog({ dir: join(root, name), durability: "os" });
    const log = encryptedLog(store, folderKeys(join(root, `${name}-keys`)));
    encrypted.set(log, name);
    return log;
  };
  let stores = 0;
  eventLogContract("encrypted, on LevelDB", {
    describe,
    it,
    open: () => openEncrypted(`encrypted-${stores++}`),
    reopen: (log) => openEncrypted(encrypted.get(log) ?? ""),
  });
}
