/** Dropped content of a session is gone from memory, rows and disk, and nothing else is. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { Level } from "level";
import { MemoryLevel } from "memory-level";
import { describe, expect, it } from "vitest";
import {
  boundsTrimming,
  trimmed,
  type EventLog,
  type NewEvent,
  type SessionEvent,
  type TrimmedContent,
} from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import type { StoreLog } from "../../../src/store/leveldb/store-log.ts";
import { mend } from "../../../src/store/leveldb/repair/mending.ts";
import { surveyStore } from "../../../src/store/leveldb/repair/survey.ts";
import { lot, runs, stepOf } from "../../support/runs.ts";
import { history } from "../../../src/projections/index.ts";
import { alone, fails, forked, numbered } from "../../../src/testing/index.ts";
import { temporaryFolder, timeout, times } from "./disk.ts";
import { openFaultyLog, openOver, type FaultyLog } from "./faulty-database.ts";
import { startChild } from "./process.ts";
import { saidOf, talk, thoughtOf } from "./talk.ts";
import { traces } from "./traces.ts";

/** All of a session, or a stretch of it. */
async function thin(
  log: StoreLog,
  session: string,
  drop: TrimmedContent,
  span: { readonly from?: number; readonly to?: number } = {},
) {
  const expected = await log.revision(session);
  const data = { drop, spans: [{ from: 1, to: expected, ...span }] };
  return await log.trim(session, { expected, event: { type: "session.thinned", time: 7, data } });
}

/** Appended one by one, as from a provider, or together. */
async function filled(
  log: EventLog,
  session: string,
  events: readonly NewEvent[],
  size = events.length,
): Promise<readonly SessionEvent[]> {
  for (let from = 0; from < events.length; from += size)
    await log.append(session, "any", events.slice(from, from + size), { origin: "copied" });
  return await Array.fromAsync(log.read(session));
}

/** The texts of the blocks, from landmark to landmark. */
function texts(events: readonly SessionEvent[]): readonly string[] {
  const told: string[] = [];
  let blocks = new Map<string, string>();
  for (const { type, data } of events) {
    if (!type.startsWith("part.")) {
      told.push(...[...blocks].flat());
      blocks = new Map();
    } else if (type === "part.tool-input-delta")
      blocks.set(data.id, (blocks.get(data.id) ?? "") + data.delta);
    else if (type === "part.text-delta" || type === "part.reasoning-delta")
      blocks.set(data.id, (blocks.get(data.id) ?? "") + data.text);
  }
  return [...told, ...[...blocks].flat()];
}

/** As another process finds it, and as repair would write it again. */
async function soundRows(rows: FaultyLog["rows"]): Promise<void> {
  const survey = await surveyStore(rows);
  expect(survey.findings).toEqual([]);
  const mended = new MemoryLevel({ storeEncoding: "utf8" });
  await mended.open();
  await mend(rows, mended, survey, 1);
  expect((await surveyStore(mended)).findings).toEqual([]);
  const { log } = await openOver(rows);
  const { log: again } = await openOver(mended);
  for await (const { session } of log.list()) {
    const events = await Array.fromAsync(log.read(session));
    expect(await Array.fromAsync(again.read(session))).toEqual(events);
    expect(await Array.fromAsync(log.read(session, { backwards: true }))).toEqual(
      events.toReversed(),
    );
  }
  const order = await Array.fromAsync(log.readAll());
  expect(order.map(({ position }) => position)).toEqual(
    [...new Set(order.map(({ position }) => position))].toSorted((one, other) => one - other),
  );
  expect(await Array.fromAsync(again.readAll())).toEqual(order);
}

describe("a session that was trimmed", () => {
  it.each([1, 3, 10_000])("has its events in their places, %i appended at a time", async (size) => {
    const { log, rows } = await openFaultyLog();
    const before = await filled(log, "s", talk("s", 6), size);
    await log.append("other", "none", [numbered(1)], { origin: "copied" });
    const told = await thin(log, "s", "boundaries");
    const after = await Array.fromAsync(log.read("s"));
    expect(told).toMatchObject({ recorded: true, erased: true, revision: before.length + 1 });
    expect(after.slice(0, -1).map(({ type, position }) => [position, type])).toEqual(
      before.map(({ type, position }) => [position, type]),
    );
    expect(after.at(-1)).toMatchObject({ type: "session.thinned", position: before.length + 1 });
    expect(texts(after)).toEqual(texts(before));
    expect(after.filter(boundsTrimming).slice(0, -1)).toEqual(before.filter(boundsTrimming));
    await soundRows(rows);
    await log.append("s", "any", [numbered(9)], { origin: "copied" });
    const gone = await thin(log, "s", "reasoning");
    expect(gone.after).toBeLessThan(gone.before);
    const left = texts(await Array.fromAsync(log.read("s")));
    const bare = texts(before).map((text) => (text.startsWith("secret") ? "" : text));
    expect(left).toEqual([...bare, "0", "text 9"]);
    await soundRows(rows);
  });

  it("is as the pure rule says, and doing it again changes nothing", async () => {
    const { log, rows } = await openFaultyLog();
    const before = await filled(log, "s", talk("s", 5), 4);
    const span = { from: 50, to: 600 };
    for (const drop of ["reasoning", "boundaries"] as const) {
      const was = await Array.fromAsync(log.read("s"));
      await thin(log, "s", drop, span);
      const is = await Array.fromAsync(log.read("s"));
      expect(is.slice(0, was.length)).toEqual(trimmed(was, [{ drop, spans: [span] }]));
    }
    const rowsBefore = await rows.iterator().all();
    const expected = before.length + 2;
    expect(await log.trim("s", { expected })).toMatchObject({ events: 0, recorded: false });
    expect(await thin(log, "s", "boundaries", span)).toMatchObject({ events: 0, recorded: false });
    expect(await rows.iterator().all()).toEqual(rowsBefore);
  });

  it("tells what would change, and changes nothing", async () => {
    const { log, rows } = await openFaultyLog();
    const events = await filled(log, "s", talk("s", 5), 4);
    const before = await rows.iterator().all();
    const data = { drop: "boundaries", spans: [{ from: 1, to: events.length }] } as const;
    const say = { type: "session.thinned", time: 7, data } as const;
    const would = await log.trim("s", { expected: events.length, event: say, dryRun: true });
    expect(await rows.iterator().all()).toEqual(before);
    const done = await log.trim("s", { expected: events.length, event: say });
    // Nothing was dropped, so nothing has left the files.
    expect(would).toEqual({ ...done, revision: events.length, erased: false });
  });

  it("reaches live subscribers whole", async () => {
    const { log } = await openFaultyLog();
    const live = log.subscribe("s")[Symbol.asyncIterator]();
    const before = await filled(log, "s", talk("s", 2));
    for (const event of before) expect((await live.next()).value).toEqual(event);
    await thin(log, "s", "reasoning");
    expect((await live.next()).value).toMatchObject({ type: "session.thinned" });
    await live.return?.();
    const past = await Array.fromAsync(log.read("s", { to: before.length }));
    const late = log.subscribe("s", { from: before.length - 20 })[Symbol.asyncIterator]();
    for (const event of past.slice(-21)) expect((await late.next()).value).toEqual(event);
    await late.return?.();
    await log.close();
  });
});

describe("a fork of a session that was trimmed", () => {
  it("says at its link what it said, wherever in a block that is, and behind it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 260 }), { maxLength: 6 }),
        async (ats) => {
          const { log, rows } = await openFaultyLog();
          await filled(log, "p", talk("p", 2), 5);
          for (const [index, at] of ats.entries())
            await log.fork(`f-${index}`, [forked("p", at), ...talk("f", 1)]);
          // Read under a fork's name, up to events that the session itself shares.
          if (ats[0] !== undefined) await log.fork("g", [forked("f-0", Math.max(1, ats[0] - 3))]);
          const folded = async (session: string) =>
            (await Array.fromAsync(log.read(session))).reduce(
              (state, event) => history.fold(state, event),
              opened,
            );
          const before = new Map<string, unknown>();
          for await (const { session } of log.list()) before.set(session, await folded(session));
          await thin(log, "p", "boundaries");
          if (ats[0] !== undefined) await thin(log, "f-0", "boundaries");
          for (const [session, state] of before) expect(await folded(session)).toEqual(state);
          await soundRows(rows);
          // The surviving forks own their rows.
          if (ats.length > 0) await log.delete("p", { forks: "copy" });
          if (ats.length > 0) before.delete("p");
          for (const [session, state] of before) expect(await folded(session)).toEqual(state);
          await soundRows(rows);
        },
      ),
      runs(4),
    );
  });
});

it("a fork that is given its own copy has the events of one moment, whenever they are trimmed", async () => {
  for (let scans = 1, meanwhile = true; meanwhile; scans += stepOf(3)) {
    let left = Number.POSITIVE_INFINITY;
    let interfere = async (): Promise<void> => {};
    const { log, rows } = await openFaultyLog(async (operation) => {
      if (operation === "scan" && --left === 0) await interfere();
    });
    const before = texts(await filled(log, "p", talk("p", 12)));
    const end = await log.revision("p");
    await log.fork("f", [forked("p", end), numbered(1)]);
    // Read under a fork's name, up to events that the session itself shares: these are copied.
    await log.fork("g", [forked("f", end), alone(1)]);
    meanwhile = false;
    interfere = async () => {
      meanwhile = true;
      await thin(log, "p", "boundaries");
    };
    left = scans;
    await log.delete("f", { forks: "copy" });
    expect(texts(await Array.fromAsync(log.read("g", { to: end })))).toEqual(before);
    await soundRows(rows);
  }
});

/** A history with an open step: deltas need one. */
const opened = history.fold(history.initial, {
  type: "step.started",
  position: 1,
  time: 1,
  data: {
    turn: 1,
    step: 1,
    attempt: 1,
    model: { provider: "p", modelId: "m" },
    promptDigest: "",
    estimate: { tokens: 0, basis: "length" },
  },
});

describe("trimming is refused", () => {
  it("where forks share the reasoning, which it names, and not where they share other steps", async () => {
    const { log } = await openFaultyLog();
    const events = await filled(log, "p", talk("p", 4));
    await log.fork("f", [forked("p", 100), numbered(1)]);
    await log.fork("g", [forked("f", 100), numbered(1)]);
    const error = await fails("SESSION_HAS_FORKS", () => thin(log, "p", "reasoning"));
    expect(error.details).toEqual({ forks: ["f", "g"] });
    expect(await Array.fromAsync(log.read("p"))).toEqual(events);
    expect(await thin(log, "p", "reasoning", { from: 101 })).toMatchObject({ recorded: true });
    await thin(log, "f", "reasoning");
    expect(texts(await Array.fromAsync(log.read("f"))).join(" ")).toContain("secret");
  });

  it("where a hash chain covers it, the session's own or that of a fork", async () => {
    const { log } = await openFaultyLog();
    const link = { type: "session.chained", time: 1, data: { digest: "0".repeat(64) } } as const;
    const events = talk("p", 4);
    await log.append("p", "none", events, { origin: "copied" });
    await log.fork("f", [forked("p", 500), numbered(1)]);
    await log.append("f", "any", [link], { origin: "copied" });
    const shared = await fails("COMMAND_REFUSED", () => thin(log, "p", "boundaries"));
    expect(shared.details).toEqual({ chained: "f" });
    expect(await thin(log, "p", "boundaries", { from: 501 })).toMatchObject({ recorded: true });
    await log.append("q", "none", [...events, link], { origin: "copied" });
    await fails("COMMAND_REFUSED", () => thin(log, "q", "boundaries"));
  });

  it("where the session has gone on since it was chosen, or is not there", async () => {
    const { log } = await openFaultyLog();
    await log.append("s", "none", [numbered(1)], { origin: "copied" });
    await fails("REVISION_CONFLICT", () => log.trim("s", { expected: 2 }));
    await fails("SESSION_NOT_FOUND", () => log.trim("t", { expected: 0 }));
    expect(await log.revision("s")).toBe(1);
  });
});

/** The content between landmarks, each stretch as a text. */
function stretches(events: readonly SessionEvent[]): readonly string[] {
  const found = [""];
  for (const event of events) {
    if (boundsTrimming(event)) found.push("");
    found.push(`${found.pop()}${JSON.stringify(event)}\n`);
  }
  return found;
}

describe("a trimming that is interrupted", () => {
  it("leaves each block as it was or as it is to be, whichever write fails, and goes on later", async () => {
    const whole = await openFaultyLog();
    const before = await filled(whole.log, "s", talk("s"));
    await thin(whole.log, "s", "boundaries");
    const after = await Array.fromAsync(whole.log.read("s"));
    const outcomes: string[] = [];
    const step = stepOf(2);
    for (let failing = lot % step; outcomes.at(-1) !== "thinned"; failing += step) {
      const { log, database, rows } = await openFaultyLog();
      await filled(log, "s", talk("s"));
      const state = "a state";
      await log.saveSnapshot("s", { projection: "p", version: 1, position: 1, state });
      database.fail("write", new Error("IO error: no luck"), failing);
      const outcome = await thin(log, "s", "boundaries").then(
        () => "thinned",
        () => "failed",
      );
      outcomes.push(outcome);
      await soundRows(rows);
      const { log: again } = await openOver(rows);
      const cut = await Array.fromAsync(again.read("s", { to: before.length }));
      expect(cut.length).toBe(before.length);
      const [was, is, willBe] = [before, cut, after].map(stretches);
      for (const [index, stretch] of (is ?? []).entries())
        expect([was?.[index], willBe?.[index]]).toContain(stretch);
      const expected = await again.revision("s");
      if (expected > before.length) await again.trim("s", { expected });
      else await thin(again, "s", "boundaries");
      expect(await Array.fromAsync(again.read("s"))).toEqual(after);
      expect(await again.loadSnapshot("s", "p")).toMatchObject({ state });
      await soundRows(rows);
    }
    expect(step * outcomes.length).toBeGreaterThan(5);
  });

  it(
    "is gone on with after a kill at any moment; what was acknowledged is in no file",
    async () => {
      const root = await temporaryFolder();
      const kills = times(2, 4);
      for (let kill = 0; kill < kills; kill++) {
        const dir = join(root, String(kill));
        const child = startChild(["thin", dir]);
        const moment = `s-${1 + (kill % 3)}`;
        await child.line((line) => line === moment);
        for (let turns = 61 * kill; turns > 0; turns--)
          await new Promise((resolve) => setImmediate(resolve));
        await child.kill();
        const log = await openLog({ dir });
        const done = new Set(child.lines);
        const names = (await Array.fromAsync(log.list())).map(({ session }) => session);
        for (const session of names) {
          const events = await Array.fromAsync(log.read(session));
          const told = texts(events);
          for (let step = 0; step < 40; step++) {
            expect(told).toContain(saidOf(session, step));
            const thought = told.includes(thoughtOf(session, step));
            expect(thought && done.has(session)).toBe(false);
          }
        }
        const left = await traces(dir, /secret of s-\d+/);
        expect(left.filter((text) => done.has(text.slice("secret of ".length)))).toEqual([]);
        // A recorded rule is applied.
        for (const session of names)
          if (!done.has(session)) {
            await thin(log, session, "reasoning");
            await thin(log, session, "boundaries");
          }
        expect(await traces(dir, /secret of s-\d+/)).toEqual([]);
        await log.close();
        expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
      }
    },
    timeout,
  );
});

describe("the bytes of what was dropped", () => {
  /** Of LevelDB's files. */
  async function size(dir: string): Promise<number> {
    let bytes = 0;
    for (const name of await readdir(join(dir, "log")))
      if (/\.(ldb|log)$/.test(name)) bytes += (await stat(join(dir, "log", name))).size;
    return bytes;
  }

  it("are gone from the files when it resolves, wherever LevelDB had put them, and from snapshots", async () => {
    const dir = await temporaryFolder();
    const events = talk("s", 120);
    {
      await using log = await openLog({ dir, durability: "os" });
      await filled(log, "s", events.slice(0, 9000), 3);
      await log.saveSnapshot("s", {
        projection: "p",
        version: 1,
        position: 9,
        state: thoughtOf("s", 1),
      });
    }
    await using log = await openLog({ dir, durability: "os" });
    await filled(log, "s", events.slice(9000), 200);
    await log.append("t", "none", talk("t", 3), { origin: "copied" });
    expect(await traces(dir, /secret of s/)).toHaveLength(1);
    expect(await thin(log, "s", "reasoning")).toMatchObject({ erased: true });
    expect(await traces(dir, /secret of s|n\/s\//)).toEqual([]);
    expect(texts(await Array.fromAsync(log.read("s"))).join()).not.toMatch(/secret/);
    expect(await traces(dir, /secret of t/)).toHaveLength(1);
    expect(await log.loadSnapshot("s", "p")).toBeUndefined();
  });

  it("go when the store is opened again, where somebody was reading meanwhile", async () => {
    const dir = await temporaryFolder();
    const log = await openLog({ dir, durability: "os" });
    await filled(log, "s", talk("s", 80), 300);
    const reading = log.read("s")[Symbol.asyncIterator]();
    await reading.next();
    expect(await thin(log, "s", "reasoning")).toMatchObject({ erased: false });
    await log.close();
    expect(await traces(dir, /secret of s/)).toHaveLength(1);
    await (await openLog({ dir })).close();
    expect(await traces(dir, /secret of s/)).toEqual([]);
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
  });

  it("are given back to the disk", async () => {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir, durability: "os" });
    await filled(log, "s", talk("s", 200, 5));
    const sizes = [await size(dir)];
    for (const drop of ["boundaries", "reasoning"] as const) {
      await thin(log, "s", drop);
      sizes.push(await size(dir));
    }
    const [before = 0, without = 0, both = 0] = sizes;
    expect(without).toBeLessThan(before / 2);
    expect(both).toBeLessThan(without);
  });
});

describe("repair", () => {
  it("keeps a session that was trimmed, and does not bring back what it had", async () => {
    const dir = await temporaryFolder();
    const log = await openLog({ dir });
    await filled(log, "s", talk("s", 30), 40);
    await thin(log, "s", "reasoning");
    await thin(log, "s", "boundaries");
    const events = await Array.fromAsync(log.read("s"));
    const order = await Array.fromAsync(log.readAll());
    await log.append("t", "none", [numbered(1), numbered(2)], { origin: "copied" });
    await log.close();
    const rows = new Level(join(dir, "log"));
    await rows.open();
    await rows.del("s/t");
    await rows.close();
    expect((await repairLog({ dir })).changed).toBe(true);
    await using mended = await openLog({ dir });
    expect(await Array.fromAsync(mended.read("s"))).toEqual(events);
    expect((await Array.fromAsync(mended.readAll())).slice(0, order.length)).toEqual(order);
    expect((await traces(dir, /secret of s/)).length).toBe(0);
  });
});
