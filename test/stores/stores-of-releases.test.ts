/** Stores of earlier releases open, mean what they meant, keep every law, and go on. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import {
  createRuntime,
  encryptedLog,
  exportSession,
  folderKeys,
  importSession,
  openLog,
  openMemoryLog,
  verifySession,
  type EventLog,
  type Runtime,
  type Session,
} from "../../src/public/index.ts";
import { clerk } from "../support/clerk.ts";
import { all, sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { kept, meaningsOf, readMeanings, unpackStores, type Meaning } from "./release-stores.ts";
import { storeAgent } from "./store-sessions.ts";
import { logProblems } from "../support/log-problems.ts";

const ONLY_THE_LAST = 1_000_000;
const stores = ["plain", "encrypted", "backup"] as const;

/** The log of a store as its owner reads it. */
async function opened(dir: string, store: string): Promise<EventLog> {
  const log = await openLog({ dir: join(dir, store), durability: "os", create: false });
  return store === "encrypted" ? encryptedLog(log, folderKeys(join(dir, "keys"))) : log;
}

async function namesIn(log: EventLog): Promise<string[]> {
  return (await Array.fromAsync(log.list())).map(({ session }) => session);
}

async function assertSound(
  log: EventLog,
  options: Parameters<typeof logProblems>[1] = {},
): Promise<void> {
  expect(await logProblems(log, options)).toEqual([]);
}

/** What is stored and what a model is shown is the same to the byte; what else is shown may be more. */
function assertMeans(found: Meaning | undefined, expected: Meaning, session: string): void {
  const { shown, ...exact } = expected;
  expect({ session, ...found }).toMatchObject({ session, shown });
  expect({ session, stored: found?.stored, prompt: found?.prompt }).toEqual({ session, ...exact });
}

describe.each(kept)("a store of release %s", (release) => {
  // In `npm test` one of each release.
  const mine = sampled(stores, 1, kept.indexOf(release));
  let dir = "";
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "turnlog-releases-"));
    await unpackStores(release, dir);
  });
  afterAll(() => {
    rmSync(dir, { recursive: true });
  });

  /** Runs sessions on a copy that others do not see. */
  async function onCopy(act: (dir: string) => Promise<void>): Promise<void> {
    const copy = mkdtempSync(join(dir, "copy-"));
    await unpackStores(release, copy);
    await act(copy);
  }

  it.each(mine)("opens, is sound and means what it meant: %s", async (store) => {
    const meanings = (await readMeanings(release))[store] ?? {};
    await using log = await opened(dir, store);
    await assertSound(log, all ? {} : { every: ONLY_THE_LAST });
    const found = await meaningsOf(log);
    expect(Object.keys(found)).toEqual(Object.keys(meanings));
    for (const [session, meaning] of Object.entries(meanings))
      assertMeans(found[session], meaning, session);
  });

  it.each(mine)("continues in every session, and in a fork of each: %s", async (store) => {
    await onCopy(async (copy) => {
      {
        await using runtime = await running(copy, store);
        const names = await namesIn(runtime.log);
        // A backup has what the plain store has.
        for (const name of sampled(names, store === "backup" ? 3 : 1)) await goOn(runtime, name);
        await expect(runtime.session("deleted")).rejects.toMatchObject({ code: "SESSION_DELETED" });
      }
      await using log = await opened(copy, store);
      // Of what was there before, the states on the way are another test's.
      await assertSound(log, { every: ONLY_THE_LAST });
    });
  });

  it.each(mine)("exports sessions that are the same once they are imported: %s", async (store) => {
    await using log = await opened(dir, store);
    await using other = await openMemoryLog();
    for (const session of sampled(await namesIn(log), 1)) {
      const lines = await Array.fromAsync(exportSession(log, session));
      await importSession(other, lines);
      expect(await Array.fromAsync(exportSession(other, session))).toEqual(lines);
    }
  });

  it("has exports that are imported, mean what their sessions meant, and go on", async () => {
    const { plain = {} } = await readMeanings(release);
    for (const file of sampled(readdirSync(join(dir, "exports")), 1)) {
      await using log = await openMemoryLog();
      const lines = readFileSync(join(dir, "exports", file), "utf8").split("\n");
      const { session } = await importSession(log, lines);
      expect((await verifySession(log, session)).problems).toEqual([]);
      const found = (await meaningsOf(log))[session];
      // A fixture is a session by itself, with names of its own.
      const { prompt } = plain[session] ?? { prompt: found?.prompt };
      expect([file, found?.prompt]).toEqual([file, prompt]);
      await using runtime = await createRuntime({ log, recovery: "continue", agent, graceMs: 1 });
      await goOn(runtime, session);
      expect((await verifySession(log, session)).problems).toEqual([]);
    }
  });

  it("keeps answers that were given for good, and messages that waited when the process died", async () => {
    await onCopy(async (copy) => {
      await using runtime = await running(copy, "plain");
      const always = await runtime.session("asking-after-always");
      await always.idle();
      const { position } = await always.view();
      await (
        await always.send("Book.")
      ).result;
      const types = (await since(runtime.log, always.id, position)).map(({ type }) => type);
      expect(types).toContain("tool.succeeded");
      expect(types).not.toContain("tool.approval-requested");

      const killed = await runtime.session("killed-speaking");
      await killed.idle();
      const all = await since(runtime.log, killed.id, 0);
      const delivered = all.flatMap(({ type, data }) =>
        type === "turn.started" || type === "message.delivered" ? [JSON.stringify(data)] : [],
      );
      for (const id of ["m1", "m2", "m3"])
        expect(delivered.filter((data) => data.includes(`"${id}"`)).length).toBeGreaterThan(0);
      expect(delivered.filter((data) => data.includes('"m4"'))).toEqual([]);
    });
  });

  it("does not open what is encrypted without its keys", async () => {
    await onCopy(async (copy) => {
      await using runtime = await createRuntime({ dir: join(copy, "encrypted"), agent });
      const session = await runtime.session("approvals").catch((error: unknown) => error);
      expect(session).toMatchObject({ code: "KEY_MISSING" });
    });
  });
});

/** Books a bed when it is told to, and otherwise just answers. */
const agent = storeAgent(({ prompt }) => {
  const last = prompt.at(-1);
  return last?.role === "user" && JSON.stringify(last.content).includes('"Book."')
    ? calling(call("book", "new", { city: "Gera" }))
    : "And on it goes.";
});

async function running(dir: string, store: string): Promise<Runtime> {
  const keys = folderKeys(join(dir, "keys"));
  return await createRuntime({
    dir: join(dir, store),
    durability: "os",
    recovery: "continue",
    graceMs: 1,
    agent,
    ...(store === "encrypted" ? { encryption: { keys } } : {}),
  });
}

async function goOn(runtime: Runtime, name: string): Promise<void> {
  const session = await runtime.session(name);
  if ((await session.view()).state.value === "closed") return await assertClosed(session);
  await using answering = clerk(session);
  await answering.idle();
  await assertAnswers(session);
  await assertAnswers(await session.fork());
}

async function assertAnswers(session: Session): Promise<void> {
  const turn = await session.send("Are you still there?");
  const { finishReason } = await turn.result;
  expect([session.id, finishReason]).toEqual([session.id, "stop"]);
}

async function assertClosed(session: Session): Promise<void> {
  await expect(session.send("Hello?")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
}

async function since(
  log: EventLog,
  session: string,
  position: number,
): Promise<readonly SessionEvent[]> {
  return await Array.fromAsync(log.read(session, { from: position + 1 }));
}
