/** What a disk that is full does to a store: a typed error, and nothing that was acknowledged is lost. */
import { spawnSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { numberedUpTo } from "../../../src/testing/index.ts";
import { copyStore, fingerprint, temporaryFolder } from "./disk.ts";
import { startChild } from "./process.ts";

const errorSchema = z.object({ code: z.string(), message: z.string() });

function mountSmall(dir: string, megabytes: number): boolean {
  const mounted =
    spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", dir]).status === 0;
  if (mounted) onTestFinished(() => void spawnSync("umount", [dir]));
  return mounted;
}

/** Lets a child fill the store, and checks what it was told against what is there afterwards. */
async function fillUp(dir: string, limits: string | undefined): Promise<number> {
  const lines = await startChild(["fill", dir], limits === undefined ? {} : { limits }).ended;
  const [acknowledged, first, second, read, last] = lines;
  const error = errorSchema.parse(JSON.parse(first ?? ""));
  expect(error.code, error.message).toBe("LOG_FULL");
  expect(error.message).toContain("Free some space");
  // Nothing follows a write that failed, and everything acknowledged can still be read.
  expect(errorSchema.parse(JSON.parse(second ?? "")).code).toBe("LOG_FULL");
  expect(read).toBe(acknowledged);
  expect(last).toBe("closed");
  return Number(acknowledged);
}

async function expectKept(dir: string, acknowledged: number): Promise<void> {
  await using log = await openLog({ dir });
  const events = await Array.fromAsync(log.read("s"));
  // The last one may have reached the disk though its writing failed.
  expect([acknowledged, acknowledged + 1]).toContain(events.length);
  await log.append("s", events.length, numberedUpTo(3));
  await log.close();
  expect((await repairLog({ dir })).findings).toEqual([]);
}

it("refuses to write beyond a limit on file sizes, and keeps what was acknowledged", async () => {
  const dir = join(await temporaryFolder(), "store");
  // In blocks of 512 bytes: LevelDB's log file grows past it long before it is rotated.
  const acknowledged = await fillUp(dir, "ulimit -f 1000");
  expect(acknowledged).toBeGreaterThan(50);
  await expectKept(dir, acknowledged);
});

it("refuses to write to a full disk, loses nothing, and changes nothing where it cannot open", async (context) => {
  const dir = await temporaryFolder();
  if (!mountSmall(dir, 8)) context.skip("no file system can be mounted here (it takes root)");
  const acknowledged = await fillUp(dir, undefined);
  expect(acknowledged).toBeGreaterThan(500);
  const elsewhere = join(await temporaryFolder(), "store");
  await copyStore(dir, elsewhere);
  await expectKept(elsewhere, acknowledged);

  await mkdir(join(dir, "ballast"));
  spawnSync("dd", ["if=/dev/zero", `of=${join(dir, "ballast", "zeros")}`, "bs=1k"]);
  const before = await fingerprint(dir);
  const outcome = await openAndClose(dir);
  expect(["LOG_FULL", "ok"]).toContain(outcome);
  if (outcome === "ok") return;
  expect(await fingerprint(dir)).toEqual(before);
  const refused = join(await temporaryFolder(), "store");
  await copyStore(dir, refused);
  await expectKept(refused, acknowledged);
});

async function openAndClose(dir: string): Promise<string> {
  const [line = ""] = await startChild(["try", dir]).ended;
  return line === "ok" ? line : errorSchema.parse(JSON.parse(line)).code;
}
