/** A disk that fails, or becomes read-only, in mid-run: a typed error, and nothing that was acknowledged is lost. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { numberedUpTo } from "../../../src/testing/index.ts";
import { sampled } from "../../support/runs.ts";
import { randomFrom, temporaryFolder, timeout, times } from "./disk.ts";
import { startChild } from "./process.ts";

const source = fileURLToPath(new URL("failing-disk.c", import.meta.url));
const errorSchema = z.object({ code: z.string(), message: z.string() });
const hasCompiler = process.platform === "linux" && spawnSync("gcc", ["--version"]).status === 0;

interface Fault {
  /** The function that fails. */
  readonly call: string;
  /** A part of the path of its file. */
  readonly path: string;
  /** How many calls succeed before. */
  readonly after: number;
  readonly error: "EIO" | "EROFS" | "EACCES";
}

let library: string;
beforeAll(async () => {
  if (!hasCompiler) return;
  const dir = await mkdtemp(join(tmpdir(), "turnlog-failing-disk-"));
  library = join(dir, "failing-disk.so");
  const made = spawnSync("gcc", ["-shared", "-fPIC", "-o", library, source, "-ldl"], {
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(made.stderr);
  return () => rm(dir, { recursive: true });
});

/** The environment of a process whose disk fails. */
function failing({ call, path, after, error }: Fault): NodeJS.ProcessEnv {
  return {
    ...process.env,
    LD_PRELOAD: library,
    FAULT_CALL: call,
    FAULT_PATH: path,
    FAULT_AFTER: String(after),
    FAULT_ERRNO: String(constants.errno[error]),
  };
}

/** Where a write of an event can fail, after how many calls of an opening, and within how many more. */
const writes: readonly (readonly [call: string, path: string, least: number, more: number])[] = [
  ["fdatasync", ".log", 2, 400],
  ["fwrite_unlocked", ".log", 2, 400],
  ["pwrite64", "store.reached", 1, 200],
  ["fopen64", "store/log/00", 3, 3],
  ["fopen64", ".ldb", 1, 1],
];

const failures = (["EIO", "EROFS", "EACCES"] as const).flatMap((error) =>
  writes.map(([call, path, least, more]) => ({ error, call, path, least, more })),
);

/** Where an opening can fail. */
const openings = ["store/log/", "store/lock/", "store/store.json", "store/store.reached"].flatMap(
  (path) =>
    ["pread64", "rename", "fopen64", "fdatasync"].flatMap((call) =>
      [0, 1, 2].map((after) => ({ path, call, after })),
    ),
);

describe.skipIf(!hasCompiler)("a disk that fails in mid-run (skipped without gcc on Linux)", () => {
  it.each(sampled(failures, 1))(
    "refuses what it cannot write, and keeps what was acknowledged: $error of $call on $path",
    async ({ error, call, path, least, more }) => {
      const random = randomFrom(more + error.length);
      for (let trial = 0; trial < times(1); trial++) {
        const dir = join(await temporaryFolder(), "store");
        await (await openLog({ dir })).close();
        const after = least + Math.floor(random() * more);
        const env = failing({ call, path, after, error });
        const lines = await startChild(["fill", dir], { env }).ended;
        const [acknowledged, first, second, read, last] = lines;
        for (const line of [first, second]) {
          const { code, message } = errorSchema.parse(JSON.parse(line ?? ""));
          expect(code, message).toBe(error === "EIO" ? "LOG_FAILED" : "LOG_READ_ONLY");
          expect(message).toMatch(/Look at the disk|Make the folder writable/);
        }
        expect([read, last]).toEqual([acknowledged, "closed"]);
        await using log = await openLog({ dir });
        const { length } = await Array.fromAsync(log.read("s"));
        // The last one may have reached the disk though its writing failed.
        expect([Number(acknowledged), Number(acknowledged) + 1]).toContain(length);
        await log.append("s", "any", numberedUpTo(1));
        await log.close();
        expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
      }
    },
    timeout,
  );

  it(
    "refuses a store whose files cannot be read now, leaves it as it is, and opens it later",
    async () => {
      const dir = join(await temporaryFolder(), "store");
      {
        await using log = await openLog({ dir });
        await log.append("s", "none", numberedUpTo(40));
      }
      const codes: string[] = [];
      for (const opening of sampled(sampled(openings, 1), 1)) {
        const [line = ""] = await startChild(["try", dir], {
          env: failing({ ...opening, error: "EIO" }),
        }).ended;
        codes.push(line === "ok" ? line : errorSchema.parse(JSON.parse(line)).code);
      }
      expect([...new Set(codes)].toSorted()).toEqual(["LOG_FAILED", "ok"]);
      await using log = await openLog({ dir });
      const { length } = await Array.fromAsync(log.read("s"));
      expect(length - 40).toBeGreaterThanOrEqual(codes.filter((code) => code === "ok").length);
      await log.close();
      expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
    },
    timeout,
  );
});
