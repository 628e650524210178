/** An encrypted log is as small as encryption lets it be: its deltas share rows as all others do. */
import { expect, it } from "vitest";
import { encryptedLog } from "../../../src/store/encryption/encrypting-log.ts";
import { memoryKeys } from "../../../src/store/encryption/key-store.ts";
import { numbered } from "../../../src/testing/index.ts";
import { openFaultyLog } from "../leveldb/faulty-database.ts";

it("merges deltas that came one by one, at fewer than thirty bytes each beside their text", async () => {
  const { log: stored, rows } = await openFaultyLog();
  const log = encryptedLog(stored, memoryKeys());
  let said = 0;
  const count = 2000;
  for (let number = 1; number <= count; number++) {
    const delta = numbered(number);
    said += delta.data.text.length;
    await log.append("s", number - 1, [delta]);
  }
  await log.append("s", count, [{ type: "part.text-end", time: 1, data: { id: "0" } }]);
  const events = await rows.iterator({ gte: "e/", lt: "e0" }).all();
  expect(events.length).toBeLessThan(20);
  let bytes = 0;
  for (const [key, row] of await rows.iterator().all()) bytes += key.length + row.length;
  expect(bytes - said).toBeLessThan(30 * count);
  await log.close();
});
