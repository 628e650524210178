/** A deleted session is gone from memory, from the list, and from the bytes on disk. */
import { join } from "node:path";
import { Level } from "level";
import { describe, expect, it } from "vitest";
import type { EventLog, GlobalEvent, NewEvent, SessionEvent } from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { verifyLog } from "../../../src/archive/verify/index.ts";
import { alone, fails, forked, numbered, numberedUpTo, take } from "../../../src/testing/index.ts";
import { temporaryFolder, timeout } from "./disk.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";
import { startChild } from "./process.ts";
import { traces } from "./traces.ts";
import { eventually } from "../../support/eventually.ts";

/** An event with a text that can be found in the bytes of a file. */
function secret(text: string, at = 1): NewEvent {
  return { type: "unknown", time: at, data: { type: "secret.told", version: 1, data: text } };
}

/** Everything that a log tells about its events. */
async function everything(log: EventLog): Promise<{
  readonly events: Readonly<Record<string, readonly SessionEvent[]>>;
  readonly order: readonly GlobalEvent[];
}> {
  const events: Record<string, SessionEvent[]> = {};
  for await (const { session } of log.list())
    events[session] = await Array.fromAsync(log.read(session));
  return { events, order: await Array.fromAsync(log.readAll()) };
}

describe("the bytes of a deleted session", () => {
  it("are gone from the files when delete resolves, wherever LevelDB had put them", async () => {
    const dir = await temporaryFolder();
    // In tables of an earlier process, of this one, and in LevelDB's log file.
    for (let round = 0; round < 3; round++) {
      await using log = await openLog({ dir, durability: "os" });
      for (let number = 0; number < 200; number++) {
        await log.append("gone", "any", [secret(`planted-${round}-${number}`)], {
          origin: "copied",
        });
        await log.append("stays", "any", [secret(`kept-${round}-${number}`)], { origin: "copied" });
      }
      await log.append("gone", "any", numberedUpTo(400));
      const state = `snapshot-${round}`;
      await log.saveSnapshot("gone", { projection: "p", version: 1, position: 1, state });
    }
    await using log = await openLog({ dir, durability: "os" });
    await log.append("gone", "any", [secret("planted-last")], { origin: "copied" });
    const planted = /planted-(?:0-7|2-199|last)\b|snapshot-2/;
    expect(await traces(dir, planted)).toEqual([
      "planted-0-7",
      "planted-2-199",
      "planted-last",
      "snapshot-2",
    ]);
    expect(await log.delete("gone")).toMatchObject({ erased: true, repeated: false });
    expect(await traces(dir, /planted-\S*|snapshot-.|text 3/)).toEqual([]);
    expect(await traces(dir, /[einq]\/gone\/./)).toEqual([]);
    expect(await traces(dir, /kept-0-7\b/)).toHaveLength(1);
    expect(await log.revision("stays")).toBe(600);
  });

  it("go when the store is opened again, where somebody was reading while it was deleted", async () => {
    const dir = await temporaryFolder();
    const log = await openLog({ dir, durability: "os" });
    await log.append(
      "stays",
      "none",
      numberedUpTo(3000, 1, (at) => secret(`kept-${at}`, at)),
      { origin: "copied" },
    );
    await log.append("gone", "none", [secret("planted")], { origin: "copied" });
    const reading = log.read("stays")[Symbol.asyncIterator]();
    await take(reading);
    expect(await log.delete("gone")).toMatchObject({ erased: false });
    await log.close();
    expect(await traces(dir, /x\/gone|planted/)).toEqual(["planted", "x/gone"]);
    const again = await openLog({ dir });
    expect(await traces(dir, /planted/)).toEqual([]);
    expect(await again.delete("gone")).toMatchObject({ erased: true, repeated: true });
    await again.close();
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
  });

  it("go when the store is opened again, where it was closed before they could", async () => {
    const dir = await temporaryFolder();
    for (let turn = 0; turn < 4; turn++) {
      const log = await openLog({ dir, durability: "os" });
      const name = `gone-${turn}`;
      await log.append(name, "none", [secret(`planted-${turn}`)], { origin: "copied" });
      const deleting = log.delete(name);
      for (let ticks = 40 * turn; ticks > 0; ticks--) await Promise.resolve();
      await log.close();
      expect(await deleting).toMatchObject({ repeated: false });
      await (await openLog({ dir })).close();
      expect(await traces(dir, /planted-\d/)).toEqual([]);
    }
  });

  it("go without another call when the last reader has ended", async () => {
    const dir = await temporaryFolder();
    const log = await openLog({ dir, durability: "os" });
    await log.append(
      "stays",
      "none",
      numberedUpTo(3000, 1, (at) => secret(`kept-${at}`, at)),
      { origin: "copied" },
    );
    await log.append("gone", "none", [secret("planted")], { origin: "copied" });
    const reading = log.read("stays")[Symbol.asyncIterator]();
    await take(reading);
    expect(await log.delete("gone")).toMatchObject({ erased: false });
    await reading.return?.();
    await eventually(async () => expect(await traces(dir, /planted/)).toEqual([]));
    await log.close();
  });
});

it("a fork that is given its own copy has each event once, whenever rows are merged meanwhile", async () => {
  for (let scans = 1, meanwhile = true; meanwhile; scans++) {
    let left = Number.POSITIVE_INFINITY;
    let interfere = async (): Promise<void> => {};
    const { log, rows } = await openFaultyLog(async (operation) => {
      if (operation === "scan" && --left === 0) await interfere();
    });
    // The rows of the last block lie in two pages, and are merged when it ends.
    for (let number = 1; number <= 300; number++)
      await log.append("p", "any", [number <= 200 ? alone(number) : numbered(number)]);
    const before = await Array.fromAsync(log.read("p"));
    await log.fork("f", [forked("p", before.length), alone(1)]);
    await log.fork("g", [forked("f", before.length), alone(1)]);
    meanwhile = false;
    interfere = async () => {
      meanwhile = true;
      await log.append("p", "any", [alone(301)]);
    };
    left = scans;
    await log.delete("f", { forks: "copy" });
    expect(await Array.fromAsync(log.read("g", { to: before.length }))).toEqual(before);
    const { log: again } = await openOver(rows);
    expect(await Array.fromAsync(again.read("g", { to: before.length }))).toEqual(before);
  }
});

describe("a deletion that is interrupted", () => {
  it(
    "is whole or has not begun, killed at any moment; what was acknowledged is gone for good",
    async () => {
      const root = await temporaryFolder();
      for (let kill = 0; kill < 4; kill++) {
        const dir = join(root, String(kill));
        const child = startChild(["delete", dir]);
        const moment = `s-${3 + 5 * kill}`;
        await child.line((line) => line === moment);
        for (let turns = 97 * kill; turns > 0; turns--)
          await new Promise((resolve) => setImmediate(resolve));
        await child.kill();
        const log = await openLog({ dir });
        const deleted = new Set((await Array.fromAsync(log.deleted())).map((one) => one.session));
        for (const line of child.lines) expect(deleted.has(line), line).toBe(true);
        const lengths = new Map<string, number>();
        for (const { session, revision } of await Array.fromAsync(log.list())) {
          expect(deleted.has(session)).toBe(false);
          const events = await Array.fromAsync(log.read(session));
          expect(events.length).toBe(revision);
          lengths.set(session, revision);
        }
        for (const [session, length] of lengths) expect(length).toBe(session[0] === "f" ? 6 : 8);
        expect((await verifyLog(log)).problems).toEqual([]);
        // Forks keep their copies of the first five.
        const told = await traces(dir, /secret of s-\d+! 6/);
        expect(told.filter((text) => deleted.has(text.split(/[ !]/)[2] ?? ""))).toEqual([]);
        await log.close();
        expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
      }
    },
    timeout,
  );

  it("takes the events that its forks share out of the global order, and leaves them to the forks", async () => {
    const { log } = await openFaultyLog();
    await log.append("p", "none", numberedUpTo(20));
    await log.fork("f", [forked("p", 7), numbered(1)]);
    const before = await Array.fromAsync(log.read("f"));
    await log.delete("p", { forks: "copy" });
    expect(await Array.fromAsync(log.read("f"))).toEqual(before);
    const order = await Array.fromAsync(log.readAll());
    expect(
      order.map(({ position, session, event }) => [position, session, event.position]),
    ).toEqual([
      [21, "f", 8],
      [22, "f", 9],
    ]);
  });

  it("changes nothing or all of it, whichever of its writes fails", async () => {
    const outcomes: string[] = [];
    for (let failing = 0; outcomes.at(-1) !== "deleted"; failing++) {
      const { log, database, rows } = await openFaultyLog();
      await log.append("p", "none", numberedUpTo(20));
      await log.fork("f", [forked("p", 7), numbered(1)]);
      await log.fork("g", [forked("p", 12), numbered(1, "id")]);
      const before = await everything(log);
      database.fail("write", new Error("IO error: no luck"), failing);
      const outcome = await log.delete("p", { forks: "copy" }).then(
        () => "deleted",
        () => "failed",
      );
      outcomes.push(outcome);
      const { log: again } = await openOver(rows);
      // A fork that already has its copy reads the same.
      const kept = outcome === "failed" ? ["f", "g", "p"] : ["f", "g"];
      expect(await everything(again)).toEqual({
        events: Object.fromEntries(kept.map((name) => [name, before.events[name]])),
        order: before.order.filter(({ session }) => kept.includes(session)),
      });
      await again.delete("p", { forks: "copy" });
      expect((await verifyLog(again)).problems).toEqual([]);
    }
    expect(outcomes.length).toBeGreaterThan(4);
  });
});

describe("repair", () => {
  it("does not bring back what was deleted, and keeps everybody else's place", async () => {
    const dir = await temporaryFolder();
    const log = await openLog({ dir });
    await log.append("gone", "none", [secret("planted", 1), secret("planted", 2)], {
      origin: "copied",
    });
    await log.append("a", "none", numberedUpTo(3));
    await log.fork("f", [forked("a", 2), numbered(9, "id")]);
    await log.delete("a", { forks: "copy" });
    const rows = new Level(join(dir, "log"));
    const order = await Array.fromAsync(log.readAll());
    await log.close();
    await rows.open();
    const [event] = await rows.iterator({ gte: "e/gone/", lt: "e/gone0" }).all();
    expect(event).toBeDefined();
    // As if a damaged block had contained the deletions.
    await rows.put("d/gone", (await tombstoneOf("gone")) ?? "");
    await rows.del("s/gone");
    await rows.del("s/f");
    await rows.close();
    const report = await repairLog({ dir });
    expect(report.changed).toBe(true);
    await using mended = await openLog({ dir });
    expect(await Array.fromAsync(mended.readAll())).toEqual(
      order.filter(({ session }) => session !== "gone"),
    );
    expect(await traces(dir, /planted/)).toEqual([]);
    expect((await Array.fromAsync(mended.deleted())).map(({ session }) => session)).toEqual([
      "a",
      "gone",
    ]);
    expect(await Array.fromAsync(mended.list())).toMatchObject([{ session: "f", revision: 4 }]);
    expect(await mended.append("f", 4, [numbered(9, "id")])).toMatchObject({ repeated: true });
    await fails("SESSION_DELETED", () => mended.append("gone", "any", [numbered(1)]));
  });
});

/** The row that the deletion of a session with two events leaves. */
async function tombstoneOf(session: string): Promise<string | undefined> {
  const { log, rows } = await openFaultyLog();
  await log.append(session, "none", numberedUpTo(2));
  await log.delete(session);
  return await rows.get(`d/${session}`);
}
