/** Stores to damage, and the checks that every damaged store must pass. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { TurnlogError, type EventLog, type SessionEvent } from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog, type RepairReport } from "../../../src/store/leveldb/repair/repair-log.ts";
import { numbered } from "../../../src/testing/index.ts";
import { copyStore, fill, fingerprint, randomFrom, type Truth } from "./disk.ts";

export interface Template {
  readonly dir: string;
  readonly truth: Truth;
}

/** What of the store is in LevelDB's log file and what in its tables. */
export type Past = "killed" | "closed" | "closed, then killed";

/** A store with some thousand events, left by a process that closed it or was killed. */
export async function makeTemplate(dir: string, past: Past): Promise<Template> {
  const live = `${dir}-live`;
  const random = randomFrom(past.length);
  let log = await openLog({ dir: live });
  let truth = await fill(log, 2000, random);
  await log.saveSnapshot("session-0", {
    projection: "p",
    version: 1,
    position: 3,
    state: { x: "y".repeat(1000) },
  });
  if (past !== "killed") await log.close();
  if (past === "closed, then killed") {
    log = await openLog({ dir: live });
    truth = await fill(log, 600, random, truth);
  }
  await copyStore(live, dir);
  await log.close();
  await rm(live, { recursive: true });
  return { dir, truth };
}

/** The result of opening and reading a damaged store. */
export interface Outcome {
  readonly opened: boolean;
  /** Sessions of which something was refused with `LOG_DAMAGED`. */
  readonly refused: number;
  /** Events that were neither read nor refused. */
  readonly silent: number;
}

/**
 * Opens and reads a damaged store. In every case an error is typed and names its place, what is
 * read is a true beginning, and the files of a refused store are unchanged.
 */
export async function openDamaged(dir: string, { sessions, order }: Truth): Promise<Outcome> {
  const before = await fingerprint(dir);
  let log: EventLog;
  try {
    log = await openLog({ dir });
  } catch (error) {
    expectDamage(error);
    expect(await fingerprint(dir)).toEqual(before);
    return { opened: false, refused: sessions.size, silent: 0 };
  }
  let refused = 0;
  let silent = 0;
  for (const [session, events] of sessions) {
    const { read, error } = await collect(log.read(session));
    expect(read).toEqual(events.slice(0, read.length));
    if (error === undefined) silent += events.length - read.length;
    else {
      refused++;
      expectDamage(error, session);
    }
  }
  const all = await collect(log.readAll());
  if (all.error !== undefined) expectDamage(all.error);
  expect(all.read.map(({ session, event }) => `${session}:${event.position}`)).toEqual(
    order.slice(0, all.read.length),
  );
  const list = await collect(log.list());
  if (list.error !== undefined) expectDamage(list.error);
  for (const { session, revision } of list.read)
    expect(revision).toBeLessThanOrEqual(sessions.get(session)?.length ?? 0);
  const snapshot = await log
    .loadSnapshot("session-0", "p")
    .catch((error: unknown) => expectDamage(error));
  if (snapshot !== undefined) expect(snapshot.state).toEqual({ x: "y".repeat(1000) });
  await log.close();
  return { opened: true, refused, silent };
}

/**
 * Repairs a store. Afterwards it opens, all of it can be read, it continues, and nothing else is
 * wrong.
 */
export async function repairDamaged(
  dir: string,
  { sessions }: Truth,
): Promise<RepairReport & { readonly sums: number }> {
  const before = await fingerprint(join(dir, "log"));
  const report = await repairLog({ dir });
  if (report.damagedFiles === undefined)
    expect(await fingerprint(join(dir, "log"))).toEqual(before);
  else expect(await fingerprint(report.damagedFiles)).toEqual(before);
  const log = await openLog({ dir });
  const ids = new Map<string, SessionEvent>();
  let sums = 0;
  for (const [session, events] of sessions) {
    const read = await Array.fromAsync(log.read(session));
    expect(read).toEqual(events.slice(0, read.length));
    sums += read.length;
    const identified = read.find(({ id }) => id !== undefined);
    if (identified !== undefined) ids.set(session, identified);
    const lost = report.lost.find((entry) => entry.session === session);
    if (lost !== undefined)
      expect(lost).toMatchObject({ kept: read.length, lostFrom: read.length + 1 });
  }
  const all = await Array.fromAsync(log.readAll());
  expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index + 1));
  expect(all).toHaveLength(sums);
  expect(report).toMatchObject({
    events: sums,
    sessions: (await Array.fromAsync(log.list())).length,
  });
  for (const [session, { position: _, ...event }] of ids) {
    const { position, revision, repeated } = await log.append(session, "any", [event], {
      origin: "copied",
    });
    expect([repeated, all[position - 1]?.session, all[position - 1]?.event.position]).toEqual([
      true,
      session,
      revision,
    ]);
  }
  await log.append("session-0", "any", [numbered(1)], { origin: "copied" });
  await log.close();
  expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
  return { ...report, sums };
}

function expectDamage(error: unknown, session?: string): undefined {
  if (!TurnlogError.isInstance(error))
    throw new Error("an error that is not typed", { cause: error });
  expect(error.code, error.message).toBe("LOG_DAMAGED");
  expect(error.message).toContain("turnlog repair");
  if (session !== undefined)
    expect([error.session, typeof error.position]).toEqual([session, "number"]);
}

async function collect<Item>(
  items: AsyncIterable<Item>,
): Promise<{ readonly read: Item[]; readonly error?: unknown }> {
  const read: Item[] = [];
  try {
    for await (const item of items) read.push(item);
    return { read };
  } catch (error) {
    return { read, error };
  }
}
