/**
 * Makes the stores of a release: `node test/stores/record-stores.ts <release>`. A release does so once,
 * with its own code. Nobody makes the stores of an earlier release again. With `--shown`, records anew
 * what their sessions show, after a change of the folds that is meant; what is stored and what a model
 * is sent must be the same.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import {
  encryptedLog,
  exportFixture,
  exportSession,
  folderKeys,
  openLog,
} from "../../src/public/index.ts";
import {
  meaningsOf,
  readMeanings,
  releasePath,
  unpackStores,
  type Meanings,
} from "./release-stores.ts";
import {
  playDeleted,
  playForks,
  playImported,
  playMedia,
  playRecorded,
  playRedacted,
  playToTheDeath,
  playUnknown,
} from "./store-sessions.ts";
import { playConsumed, playService, playServiceToTheDeath } from "./service-sessions.ts";

// Stacks name files of the machine on which they were made.
Error.stackTraceLimit = 0;

/** Short ones, since all stores stay in the repository, and none that waits by a timer for sessions in memory. */
const recorded = ["approvals", "second-thoughts", "steering"] as const;

const exported = ["branches", "delegated", "killed-working", "later", "noted", "prepared"];

const [, , release = "", doomed] = process.argv;
if (doomed === undefined) await record(release);
else if (doomed === "--shown") await recordShown(release);
else await makePlain(doomed);

/** Ends with its process being killed. */
async function makePlain(dir: string): Promise<void> {
  // Closed once, so that there are tables, and what comes after is in the database's log file.
  {
    await using log = await openLog({ dir: join(dir, "plain") });
    await playRecorded({ log }, recorded);
    await playMedia({ log });
    await playService({ log });
  }
  const log = await openLog({ dir: join(dir, "plain") });
  await playConsumed({ log });
  await playForks({ log }, "steering", "approvals");
  await playDeleted({ log });
  await playImported({ log }, "steering");
  await playUnknown({ log });
  await playToTheDeath({ log });
  await playServiceToTheDeath({ log });
  await log.backup(join(dir, "backup"));
  process.stdout.write("ready\n");
}

async function makeEncrypted(dir: string): Promise<void> {
  const keys = folderKeys(join(dir, "keys"));
  await using log = await openLog({ dir: join(dir, "encrypted") });
  await playRecorded({ log, keys }, ["approvals", "steering"]);
  await playService({ log, keys });
  await playForks({ log, keys }, "steering", "approvals");
  await playDeleted({ log, keys });
  await playUnknown({ log, keys });
  await playRedacted({ log, keys });
}

/** Sessions with what only an export has: blobs, the link of a fork, a chain, the middle of a turn. */
async function exportSome(dir: string): Promise<void> {
  // Opening a store writes to it.
  const copy = join(dir, "copy");
  cpSync(join(dir, "plain"), copy, { recursive: true });
  await using log = await openLog({ dir: copy });
  mkdirSync(join(dir, "exports"));
  const write = (file: string, lines: readonly string[]): void => {
    writeFileSync(join(dir, "exports", file), `${lines.join("\n")}\n`);
  };
  for (const name of exported)
    write(`${name}.jsonl`, await Array.fromAsync(exportSession(log, name)));
  write("fixture.jsonl", await exportFixture(log, "approvals"));
}

async function record(name: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "turnlog-stores-"));
  const child = spawn(
    process.execPath,
    ["--stack-trace-limit=0", fileURLToPath(import.meta.url), name, dir],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await Promise.race([
    once(child.stdout, "data"),
    once(child, "exit").then(() => Promise.reject(new Error("It ended before it was killed."))),
  ]);
  child.kill("SIGKILL");
  await once(child, "exit");
  await makeEncrypted(dir);
  await exportSome(dir);
  const what = ["plain", "encrypted", "keys", "backup", "exports"];
  mkdirSync(releasePath(name, ""), { recursive: true });
  await promisify(execFile)("tar", [
    "-czf",
    releasePath(name, "stores.tar.gz"),
    "-C",
    dir,
    ...what,
  ]);
  writeMeanings(name, await storedMeanings(dir));
  rmSync(dir, { recursive: true });
}

async function recordShown(name: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "turnlog-stores-"));
  await unpackStores(name, dir);
  const [before, now] = [await readMeanings(name), await storedMeanings(dir)];
  rmSync(dir, { recursive: true });
  const exact = (meanings: Meanings): string =>
    JSON.stringify(meanings, (key, value: unknown) => (key === "shown" ? undefined : value));
  if (exact(before) !== exact(now)) throw new Error("What is stored or sent is not the same.");
  writeMeanings(name, now);
}

/** Opens the stores, which writes to them. */
async function storedMeanings(dir: string): Promise<Meanings> {
  const meanings: Record<string, Meanings[string]> = {};
  for (const store of ["plain", "encrypted", "backup"]) {
    await using log = await openLog({ dir: join(dir, store) });
    const keys = folderKeys(join(dir, "keys"));
    meanings[store] = await meaningsOf(store === "encrypted" ? encryptedLog(log, keys) : log);
  }
  return meanings;
}

function writeMeanings(name: string, meanings: Meanings): void {
  writeFileSync(releasePath(name, "meanings.json.gz"), gzipSync(JSON.stringify(meanings)));
}
