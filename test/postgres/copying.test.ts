/**
 * A copy between engines is exact, there and back: events as they are stored, forks, blobs; and continues where it
 * stopped, whenever that was, also while the source is written to.
 */

import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { copyLog } from "../../src/archive/exchange/index.ts";
import { verifyLog } from "../../src/archive/verify/index.ts";
import { isRedacted, type EventLog } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import {
  createRuntime,
  encryptedLog,
  exportSession,
  memoryKeys,
  openLog,
  openMemoryLog,
  type Agent,
  type Runtime,
} from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { run, start } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { seededRandom } from "../support/random.ts";
import { all } from "../support/runs.ts";
import { kept, unpackStores } from "../stores/release-stores.ts";

const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const programs = installedPostgres();
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
const folder = await temporaryFolder({});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

let count = 0;
const openTarget = (): Promise<EventLog> =>
  openPostgresLog({
    connectionString: server.connectionString,
    connections: server.connections,
    schema: `c${count++}`,
    pollingMs: 20,
  });

async function copied(from: EventLog, to: EventLog): ReturnType<typeof copyLog> {
  const lost: string[] = [];
  const result = await copyLog(from, to, {
    follow: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    onLost: ({ message }) => lost.push(message),
  });
  expect(lost).toEqual([]);
  return result;
}

/** Each session as an export, with its events as they are stored, and the blobs. */
async function contentOf(log: EventLog): Promise<object> {
  const sessions = await Array.fromAsync(log.list());
  const lines = sessions.map(async ({ session, createdAt, updatedAt, forkedFrom }) => [
    session,
    { createdAt, updatedAt, forkedFrom },
    ...(await Array.fromAsync(exportSession(log, session, { blobs: "none" }))),
  ]);
  const blobs = log.blobs === undefined ? [] : await Array.fromAsync(log.blobs.list());
  return { sessions: await Promise.all(lines), blobs };
}

describe.each(wanted ? kept : all ? kept.slice(-1) : [])("the store of release %s", (release) => {
  it("equals itself after a copy into a database and back", async () => {
    await unpackStores(release, folder.path);
    await using source = await openLog({ dir: folder.at("plain"), takeOver: true });
    await using database = await openTarget();
    const { events } = await copied(source, database);
    expect(events).toBeGreaterThan(100);
    await using back = await openMemoryLog();
    await copied(database, back);
    const original = await contentOf(source);
    expect(await contentOf(database)).toEqual(original);
    expect(await contentOf(back)).toEqual(original);
    expect(await copied(source, database)).toMatchObject({ events: 0 });
    if (!wanted) return;
    const { problems, sessions } = await verifyLog(database);
    expect([...problems, ...sessions.flatMap((one) => one.problems)]).toEqual([]);
  });
});

it("continues where it stopped, at whatever write that was", async () => {
  await unpackStores("0.2.0-pre.1", folder.path);
  await using source = await openLog({ dir: folder.at("plain"), takeOver: true });
  const random = seededRandom("copy");
  await using target = await openMemoryLog();
  let stops = 0;
  for (; stops < 200; stops++) {
    let left = 1 + random.below(3);
    const dies = async (): Promise<never> => {
      throw new RangeError("the process died");
    };
    const dying = wrapLog(target, {
      append: (...append) => (left-- > 0 ? target.append(...append) : dies()),
      fork: (...fork) => (left-- > 0 ? target.fork(...fork) : dies()),
      blobs: target.blobs,
    });
    const end = await copied(source, dying).catch((error: unknown) => error);
    if (!(end instanceof RangeError)) break;
  }
  expect(stops).toBeGreaterThan(20);
  expect(await contentOf(target)).toEqual(await contentOf(source));
});

it("copies what is written meanwhile, deletes what was deleted, and refuses a store with other sessions", async () => {
  await using source = await openMemoryLog();
  await using target = await openMemoryLog();
  const delta = (text: string) =>
    ({ type: "part.text-delta", time: 1, data: { id: "0", text } }) as const;
  await source.append("a", "none", [delta("1")]);
  const stop = new AbortController();
  const following = copyLog(source, target, {
    follow: true,
    signal: stop.signal,
    onProgress: () => {},
    onLost: () => {},
  });
  await expect.poll(() => target.revision("a")).toBe(1);
  await source.append("a", 1, [delta("2")]);
  await source.append("b", "none", [delta("3")]);
  await expect.poll(() => target.revision("b")).toBe(1);
  stop.abort();
  expect(await following).toEqual({ sessions: 2, events: 3, blobs: 0 });
  await source.delete("b");
  await copied(source, target);
  expect(await target.revision("b")).toBe(0);
  await target.append("a", 2, [delta("its own")]);
  await source.append("a", 2, [delta("another")]);
  await expect(copied(source, target)).rejects.toMatchObject({ code: "REVISION_CONFLICT" });
});

it("that is interrupted counts only what the target has", async () => {
  await using source = await openMemoryLog();
  await using target = await openMemoryLog();
  const deltas = Array.from({ length: 1100 }, () => ({
    type: "part.text-delta" as const,
    time: 1,
    data: { id: "0", text: "a" },
  }));
  await source.append("a", "none", deltas);
  const stop = new AbortController();
  const { events } = await copyLog(source, target, {
    follow: false,
    signal: stop.signal,
    onProgress: () => stop.abort(),
    onLost: () => {},
  });
  expect(events).toBe(1000);
  expect(await target.revision("a")).toBe(events);
});

it("copies encrypted sessions as they are stored: the same keys read them there, and erase both", async () => {
  const keys = memoryKeys();
  await using source = await openMemoryLog();
  await using target = await openTarget();
  const agent: Agent = { model: scriptedModel(["A secret.", "And more."]) };
  const open = (log: EventLog): Promise<Runtime> =>
    createRuntime({ log, agent, encryption: { keys } });
  const { position, shown } = await (async () => {
    await using runtime = await open(source);
    const session = await runtime.session("s");
    const { text } = await (await session.send("Tell me")).result;
    expect(text).toBe("A secret.");
    const events = await Array.fromAsync(runtime.log.read("s"));
    const queued = events.find(({ type }) => type === "message.queued")?.position ?? 0;
    return { position: queued, shown: (await session.view()).history };
  })();
  await copied(source, target);
  expect(await contentOf(target)).toEqual(await contentOf(source));
  expect(JSON.stringify(await contentOf(target))).not.toContain("secret");
  await expect(encryptedLog(target, memoryKeys()).loadSnapshot("s", "none")).resolves.toBe(
    undefined,
  );
  await expect(Array.fromAsync(encryptedLog(target, memoryKeys()).read("s"))).rejects.toMatchObject(
    {
      code: "KEY_MISSING",
    },
  );
  await using runtime = await open(target);
  const session = await runtime.session("s");
  expect((await session.view()).history).toEqual(shown);
  await (
    await session.send("Go on")
  ).result;
  await session.redact(position);
  expect((await verifyLog(runtime.log)).problems).toEqual([]);
  // The key is gone, whatever copy the content is in.
  const events = await encryptedLog(source, keys).readAt("s", [position]);
  expect(events.map((event) => isRedacted(event))).toEqual([true]);
});

const several = server.process !== undefined;
const needs = several ? "" : " (needs `npm run test:postgres` and an installed server)";

describe.skipIf(!several)(`\`turnlog copy\`${needs}`, () => {
  it("is exact though it is killed at 20 random moments, and copies back", async () => {
    await unpackStores("0.2.0-pre.1", folder.path);
    const { connectionString } = server;
    const cwd = folder.path;
    const there = ["copy", "--from", "plain", "--to", connectionString, "--take-over"];
    const random = seededRandom("kills");
    for (let kills = 0; kills < 20; kills++) {
      const { child, ended } = start(there, { cwd });
      await setTimeout(random.below(1500));
      child.kill("SIGKILL");
      await ended;
    }
    expect(await run(there, { cwd })).toMatchObject({ code: 0 });
    const back = ["copy", "--from", connectionString, "--to", "back"];
    expect(await run(back, { cwd })).toMatchObject({ code: 0 });
    await using source = await openLog({ dir: folder.at("plain"), readOnly: true });
    await using copy = await openLog({ dir: folder.at("back"), readOnly: true });
    expect(await contentOf(copy)).toEqual(await contentOf(source));
  });
});
