/**
 * Single bits and single records of a stored log are damaged at random: whatever changes what can be
 * read is found by `verify`, or the store is refused when it is opened.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Level } from "level";
import { beforeAll, expect, it } from "vitest";
import { TurnlogError, type EventLog } from "../../../src/events/index.ts";
import { openLog, verifyLog } from "../../../src/public/index.ts";
import { copyStore, randomFrom } from "../../store/leveldb/disk.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { lot, patience, sampled, times } from "../../support/runs.ts";

const trials = times(8, 30);

let template: string;
let truth: string;

beforeAll(async () => {
  const root = await mkdtemp(join(tmpdir(), "turnlog-records-"));
  template = join(root, "store");
  await using log = await openLog({ dir: template, durability: "os" });
  for (const name of sampled(fixtureNames, 4)) {
    const events = await readFixture(name);
    // Runs of deltas, and events that came alone.
    for (let at = 0; at < events.length; at += 1 + (at % 5)) {
      await log.append(name, "any", events.slice(at, at + 1 + (at % 5)), { origin: "recorded" });
    }
  }
  truth = await contentOf(log);
  return () => rm(root, { recursive: true, force: true });
});

/** Everything that can be read: every session's events, the list, and the order over all. */
async function contentOf(log: EventLog): Promise<string> {
  const list = await Array.fromAsync(log.list());
  const events = [];
  for (const { session } of list) events.push(await Array.fromAsync(log.read(session)));
  return JSON.stringify({ list, events, all: await Array.fromAsync(log.readAll()) });
}

type Records = readonly (readonly [key: Buffer, value: Buffer])[];
/** What is done to the record at a place; says what it was. */
type Damage = (store: Level<Buffer, Buffer>, records: Records, at: number) => Promise<string>;

function pick<Item>(items: readonly Item[], at: number): Item {
  const item = items[at % items.length];
  if (item === undefined) throw new Error("There is nothing to pick from.");
  return item;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const other = Buffer.from(bytes);
  const place = at % bytes.length;
  other[place] = (bytes[place] ?? 0) ^ (1 << (at % 8));
  return other;
}

function damages(random: () => number): readonly Damage[] {
  const number = (): number => Math.floor(random() * 2 ** 30);
  return [
    async (store, records, at) => {
      const [key, value] = pick(records, at);
      await store.put(key, flipped(value, number()));
      return `a bit of ${key.toString()}`;
    },
    async (store, records, at) => {
      const [key, value] = pick(records, at);
      const other = flipped(key, number());
      await store.batch([
        { type: "del", key },
        { type: "put", key: other, value },
      ]);
      return `a bit in the key ${key.toString()}: ${other.toString()}`;
    },
    async (store, records, at) => {
      const [key] = pick(records, at);
      await store.del(key);
      return `${key.toString()} deleted`;
    },
    async (store, records, at) => {
      const [[key], [other, value]] = [pick(records, at), pick(records, at + 1)];
      await store.put(key, value);
      return `${key.toString()} overwritten with ${other.toString()}`;
    },
    async (store, records, at) => {
      const [[key, value], [other, instead]] = [pick(records, at), pick(records, number())];
      await store.batch([
        { type: "put", key, value: instead },
        { type: "put", key: other, value },
      ]);
      return `${key.toString()} and ${other.toString()} exchanged`;
    },
  ];
}

async function damaged(dir: string, random: () => number): Promise<string> {
  const encodings = { keyEncoding: "buffer", valueEncoding: "buffer" } as const;
  await using store = new Level<Buffer, Buffer>(join(dir, "log"), encodings);
  // Marks of the store itself are for `openLog` to find out.
  const records = (await store.iterator().all()).filter(
    ([key]) => !key.toString().startsWith("m/"),
  );
  const damage = pick(damages(random), Math.floor(random() * 1000));
  return await damage(store, records, Math.floor(random() * records.length));
}

/** What came of it: refused at opening, found by `verify`, harmless, or a change that nobody saw. */
async function outcomeOf(dir: string): Promise<string> {
  let log: EventLog;
  try {
    log = await openLog({ dir });
  } catch (error) {
    if (TurnlogError.isInstance(error) && error.code === "LOG_DAMAGED") return "refused";
    throw error;
  }
  await using open = log;
  const { sessions, problems } = await verifyLog(open);
  if (problems.length + sessions.flatMap((one) => one.problems).length > 0) return "found";
  return (await contentOf(open)) === truth ? "harmless" : "unseen";
}

it("finds nothing in a store in which a record was written again as it was", async () => {
  const dir = join(template, "..", "untouched");
  await copyStore(template, dir);
  {
    await using store = new Level(join(dir, "log"));
    const [[key, value] = ["", ""]] = await store.iterator({ gte: "e/", limit: 1 }).all();
    await store.put(key, value);
  }
  expect(await outcomeOf(dir)).toBe("harmless");
});

it(
  `finds each of ${trials} random damages that changes what can be read`,
  async () => {
    const random = randomFrom(1);
    const outcomes: Record<string, number> = { found: 0, refused: 0, harmless: 0 };
    const dir = join(template, "..", "damaged");
    for (let trial = 0; trial < trials; trial++) {
      await copyStore(template, dir);
      const what = await damaged(dir, random);
      const outcome = await outcomeOf(dir);
      expect(outcome, `lot ${lot}, trial ${trial}: ${what}`).not.toBe("unseen");
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      await rm(dir, { recursive: true });
    }
    // Most rows are events, and damage to one is never harmless; ids and snapshots are no content.
    expect((outcomes["found"] ?? 0) + (outcomes["refused"] ?? 0)).toBeGreaterThan(trials / 2);
    expect(outcomes["found"]).toBeGreaterThan(0);
  },
  patience,
);
