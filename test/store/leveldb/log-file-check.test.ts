/** LevelDB's own log file: what a crash leaves at its end is no damage, anything before is. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { extendCrc32c } from "../../../src/store/leveldb/format/bytes.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { damageInLog } from "../../../src/store/leveldb/format/log-file.ts";
import { numbered } from "../../../src/testing/index.ts";
import {
  copyStore,
  flipBit,
  logFiles,
  openRefusal,
  randomFrom,
  temporaryFolder,
  times,
} from "./disk.ts";

interface LogFile {
  readonly bytes: Buffer;
  /** Where the last batch begins. */
  readonly last: number;
}

/** A log file of batches from half a block to several blocks, with a last one of a given size. */
async function logFile(lastSize: number): Promise<LogFile> {
  const dir = await temporaryFolder();
  await using log = await openLog({ dir });
  const random = randomFrom(lastSize);
  const text = (size: number): string => "x".repeat(size);
  const append = (size: number): Promise<unknown> =>
    log.append("s", "any", [
      { type: "part.text-delta", time: 1, data: { id: "0", text: text(size) } },
    ]);
  for (let batch = 0; batch < 20; batch++) await append(Math.floor(random() * 60_000));
  const [before] = await logFiles(dir, /\.log$/);
  await append(lastSize);
  const [after] = await logFiles(dir, /\.log$/);
  if (before === undefined || after === undefined) throw new Error("no log file");
  return { bytes: await readFile(after.path), last: before.size };
}

const trials = times(60, 200);

it("computes CRC-32C as RFC 3720 gives it", () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index);
  expect(~extendCrc32c(-1, bytes, 0, 32) >>> 0).toBe(0x46dd794e);
  expect(~extendCrc32c(-1, new Uint8Array(32), 0, 32) >>> 0).toBe(0x8a9136aa);
});

it.each([100, 40_000, 150_000])(
  "is whole, cut anywhere, with a last batch of %d bytes",
  async (size) => {
    const { bytes } = await logFile(size);
    const random = randomFrom(size + 1);
    expect(damageInLog(bytes)).toBeUndefined();
    for (let trial = 0; trial < trials; trial++) {
      const length = Math.floor(random() * bytes.length);
      expect(damageInLog(bytes.subarray(0, length)), `cut at ${length}`).toBeUndefined();
      // A power cut may leave zeros where the file had grown before anything was written there.
      const zeros = Buffer.concat([bytes.subarray(0, length), Buffer.alloc(70_000)]);
      expect(damageInLog(zeros), `zeros from ${length} on`).toBeUndefined();
    }
  },
);

it.each([100, 40_000, 150_000])(
  "is damaged where a bit is flipped before a last batch of %d bytes",
  async (size) => {
    const { bytes, last } = await logFile(size);
    const random = randomFrom(size + 2);
    for (let trial = 0; trial < trials; trial++) {
      const at = Math.floor(random() * last);
      const altered = Buffer.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      const found = damageInLog(altered);
      expect(found, `flipped at ${at}`).toBeDefined();
      expect(found?.offset, `flipped at ${at}`).toBeLessThanOrEqual(at);
    }
  },
);

it("is not called damaged where only the last batch is, which a power cut may have left so", async () => {
  const { bytes, last } = await logFile(150_000);
  const random = randomFrom(5);
  for (let trial = 0; trial < trials; trial++) {
    const altered = Buffer.from(bytes);
    const at = last + Math.floor(random() * (bytes.length - last));
    altered.fill(0, at, Math.min(at + 4096, altered.length));
    expect(damageInLog(altered), `zeros at ${at}`).toBeUndefined();
  }
});

it("is looked at before LevelDB is, where its recovery would lose acknowledged events without a word", async () => {
  const dir = await temporaryFolder();
  const log = await openLog({ dir });
  for (let number = 1; number <= 20; number++)
    await log.append("s", number - 1, [numbered(number)]);
  const killed = join(await temporaryFolder(), "store");
  await copyStore(dir, killed);
  await log.close();
  const [file] = await logFiles(killed, /\.log$/);
  if (file === undefined) throw new Error("no log file");
  // All in one block: LevelDB would silently drop everything from here on.
  await flipBit(file.path, Math.floor(file.size / 2), 3);
  const error = await openRefusal("LOG_DAMAGED", killed);
  expect(error.details["path"]).toBe(file.path);
});
