/**
 * A backup of a store and a store whose rows a repair wrote anew are the store: with forks, also of a session that is
 * gone, what was deleted and redacted, media, snapshots, and where consumers were.
 */

import { join } from "node:path";
import { Level } from "level";
import { expect, it } from "vitest";
import { verifyLog } from "../../src/archive/verify/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, encryptedLog, folderKeys, openLog } from "../../src/public/index.ts";
import { repairLog } from "../../src/store/leveldb/repair/repair-log.ts";
import { breakChain } from "../store/leveldb/copied-rows.ts";
import { copyStore, temporaryFolder } from "../store/leveldb/disk.ts";
import { ask } from "../support/asking.ts";
import { png } from "../support/media.ts";

/** Keeps it open until `act` has run: a kill leaves what `act` copies. */
async function work(dir: string, keys: string, act: () => Promise<unknown>): Promise<void> {
  const model = scriptedModel(({ prompt }) => `answer ${prompt.length}`);
  await using runtime = await createRuntime({
    dir,
    agent: { model },
    encryption: { keys: folderKeys(keys) },
  });
  const origin = await runtime.session("origin");
  for (const text of ["one", "two", "three"]) await ask(origin, text);
  const data = png({ width: 90, height: 90, seed: 1 });
  const sent = await origin.send([{ type: "file", data, mediaType: "image/png" }]);
  await sent.result;
  const fork = await origin.fork({ id: "fork" });
  await ask(fork, "of the fork");
  const orphan = await fork.fork({ id: "orphan" });
  await ask(orphan, "that stays");
  await ask(await runtime.session("gone"), "away");
  await runtime.delete("gone");
  await runtime.delete("fork", { forks: "copy" });
  const first = await Array.fromAsync(runtime.log.read("origin"));
  const secret = first.find(({ type }) => type === "message.queued")?.position ?? 0;
  await origin.redact(secret);
  let told = 0;
  const all = (await Array.fromAsync(runtime.log.readAll())).length;
  await using consumer = await runtime.consume("reader", () => void (told += 1));
  await expect.poll(() => told).toBeGreaterThanOrEqual(all);
  await consumer.stop();
  await act();
}

/** All that a reader of the store can see. */
async function seen(dir: string, keys: string) {
  await using log = encryptedLog(await openLog({ dir, create: false }), folderKeys(keys));
  const sessions = await Array.fromAsync(log.list());
  const { problems, sessions: verified } = await verifyLog(log);
  return {
    sessions,
    events: await Promise.all(sessions.map(({ session }) => Array.fromAsync(log.read(session)))),
    order: await Array.fromAsync(log.readAll()),
    deleted: await Array.fromAsync(log.deleted()),
    snapshots: await Promise.all(
      sessions.map(({ session }) => log.loadSnapshot(session, "session.metadata")),
    ),
    consumer: await log.cursors?.load("reader"),
    blobs: await Array.fromAsync(log.blobs?.list() ?? []),
    problems: [...problems, ...verified.flatMap((one) => one.problems)],
    redacted: verified.map((one) => one.redacted),
  };
}

async function tamper(dir: string, change: (rows: Level) => Promise<unknown>): Promise<void> {
  const rows = new Level(join(dir, "log"));
  await rows.open();
  await change(rows);
  await rows.close();
}

it("is the same in a backup, and where a repair wrote its rows anew, encrypted and with forks of what is gone", async () => {
  const root = await temporaryFolder();
  const [live, killed] = [join(root, "live"), join(root, "killed")];
  const [backup, keys] = [join(root, "backup"), join(root, "keys")];
  await work(live, keys, async () => {
    await copyStore(live, killed);
  });
  const truth = await seen(live, keys);
  expect(truth).toMatchObject({ problems: [], deleted: [{}, {}] });
  {
    await using log = await openLog({ dir: live });
    await log.backup(backup);
  }
  expect(await seen(backup, keys)).toEqual(truth);
  await tamper(backup, (rows) => rows.del("s/origin"));
  expect(await repairLog({ dir: backup })).toMatchObject({ changed: true, lost: [] });
  expect(await seen(backup, keys)).toEqual(truth);

  // The commit records are written anew: the order is the old one, and consumers begin again all the same.
  await tamper(live, breakChain);
  expect(await repairLog({ dir: live })).toMatchObject({ changed: true, lost: [] });
  expect(await seen(live, keys)).toEqual({ ...truth, consumer: 0 });
  expect(await seen(killed, keys)).toMatchObject({ problems: [], deleted: [{}, {}] });
});
