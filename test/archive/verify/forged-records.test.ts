/**
 * Single bits and single events of sessions with a hash chain are changed by somebody who makes all
 * checksums anew: `verify` finds each such change, by the chain where by nothing else.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Level } from "level";
import { beforeAll, describe, expect, it } from "vitest";
import { checksum, type SessionEvent } from "../../../src/events/index.ts";
import { createRuntime, openLog, openMemoryLog, verifySession } from "../../../src/public/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { randomFrom } from "../../store/leveldb/disk.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { patience, times } from "../../support/runs.ts";
import { storedEvents } from "../../support/replay.ts";
import { call, calling, saying } from "../../support/script.ts";
import { echo } from "../../runtime/tools.ts";
import type { SessionVerification } from "../../../src/archive/verify/index.ts";

/** Of each kind. */
const trials = times(14, 25);
const CHECKSUM = 7;

type ChainEnd = Pick<NonNullable<SessionVerification["chain"]>, "position" | "digest">;
interface Chained {
  readonly session: string;
  readonly events: readonly SessionEvent[];
  readonly chain: ChainEnd;
}

let dir: string;
let sessions: readonly Chained[];

beforeAll(async () => {
  const root = await mkdtemp(join(tmpdir(), "turnlog-forged-"));
  dir = join(root, "store");
  {
    const model = scriptedModel([
      calling(call("echo", "c", { value: "x" })),
      saying("Some ", "words ", "that ", "came ", "one ", "by ", "one."),
      "And an end.",
    ]);
    const agent = { model, tools: { echo } };
    await using log = await openLog({ dir, durability: "os" });
    for (const name of fixtureNames)
      await log.append(name, "none", await readFixture(name), { origin: "recorded" });
    await using runtime = await createRuntime({ log, hashChain: true, agent });
    const live = await runtime.session("live");
    await (
      await live.send("Begin.")
    ).result;
    const fork = await live.fork({ id: "fork" });
    await (
      await fork.send("Go on.")
    ).result;
    // Opened, they are chained from their first event on.
    for (const name of fixtureNames) await (await runtime.session(name)).idle();
  }
  await using log = await openLog({ dir, durability: "os" });
  const chained: Chained[] = [];
  for (const session of ["live", "fork", ...fixtureNames]) {
    const { chain, problems } = await verifySession(log, session);
    if (problems.length > 0) throw new Error(`Session ${session} is not sound.`);
    // What was closed before there was a chain has none.
    if (chain === undefined) continue;
    if (chain.open > 0) throw new Error(`The chain of session ${session} ends too early.`);
    chained.push({ session, chain, events: await storedEvents(log, session) });
  }
  if (chained.length < fixtureNames.length / 2) throw new Error("Few sessions have a chain.");
  sessions = chained;
  return () => rm(root, { recursive: true, force: true });
}, patience);

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("There is nothing to pick from.");
  return item;
}

/** The rules that a verification found broken; none where it found nothing. */
async function rulesBroken(verifying: Promise<SessionVerification>): Promise<readonly string[]> {
  const { problems } = await verifying;
  return problems.map(({ rule }) => rule);
}

describe("a change by somebody who makes the checksums anew", () => {
  it(
    `is found: ${trials} random bits of stored records`,
    async () => {
      const random = randomFrom(11);
      let harmless = 0;
      for (let trial = 0; trial < trials; trial++) {
        const { session, events, chain } = pick(sessions, random);
        const { key, row, other } = await forgeBit(session, random);
        const where = `${key}: ${row} became ${other}`;
        await using log = await openLog({ dir, durability: "os" });
        const broken = await rulesBroken(verifySession(log, session, { chain }));
        // A bit may make another way of writing the same.
        const isSame =
          broken.length === 0 && isDeepStrictEqual(await storedEvents(log, session), events);
        expect(broken.length > 0 || isSame, where).toBe(true);
        if (isSame) harmless += 1;
        await log.close();
        await put(key, row);
      }
      expect(harmless).toBeLessThan(trials / 10);
    },
    patience,
  );

  it(
    `is found: ${trials} random events left out, put in, exchanged, or other than they were`,
    async () => {
      const random = randomFrom(12);
      const found = { byChain: 0, byNothingElse: 0 };
      for (let trial = 0; trial < trials; trial++) {
        const { session, events, chain } = pick(sessions, random);
        const { name, forged } = forge(events, random);
        await using log = await openMemoryLog();
        await log.append("s", "none", forged, { origin: "recorded" });
        const broken = await rulesBroken(verifySession(log, "s", { chain }));
        expect(broken, `${name} in ${session}`).not.toEqual([]);
        if (broken.includes("chain")) found.byChain += 1;
        if (broken.every((rule) => rule === "chain")) found.byNothingElse += 1;
      }
      // There is something that only a chain can find.
      expect(found.byChain).toBeGreaterThan(trials / 3);
      expect(found.byNothingElse).toBeGreaterThan(trials / 10);
    },
    patience,
  );
});

/** Flips a bit of what a row of the session says, and seals it again. */
async function forgeBit(
  session: string,
  random: () => number,
): Promise<{ readonly key: string; readonly row: string; readonly other: string }> {
  await using store = new Level(join(dir, "log"));
  const rows = await store.iterator({ gte: `e/${session}/`, lt: `e/${session}0` }).all();
  const [key, row] = pick(rows, random);
  const json = Buffer.from(row.slice(CHECKSUM));
  const forged = withFlippedBit(json, random).toString();
  const position = Number.parseInt(key.slice(-9), 36);
  const other = checksum(forged, { session, position }) + forged;
  await store.put(key, other);
  return { key, row, other };
}

function withFlippedBit(bytes: Buffer, random: () => number): Buffer {
  const flipped = Buffer.from(bytes);
  const place = Math.floor(random() * bytes.length);
  flipped[place] = (flipped[place] ?? 0) ^ (1 << Math.floor(random() * 8));
  return flipped;
}

async function put(key: string, row: string): Promise<void> {
  await using store = new Level(join(dir, "log"));
  await store.put(key, row);
}

interface Forged {
  readonly name: string;
  readonly forged: readonly SessionEvent[];
}

/** The session with one event that is not as it was. */
function forge(events: readonly SessionEvent[], random: () => number): Forged {
  const at = Math.floor(random() * events.length);
  const event = events[at];
  const other = events[(at + 1 + Math.floor(random() * (events.length - 1))) % events.length];
  if (event === undefined || other === undefined) throw new Error("no event");
  const changes: readonly (readonly [name: string, forged: readonly SessionEvent[]])[] = [
    ["left out", events.toSpliced(at, 1)],
    ["cut off behind", events.slice(0, Math.max(1, at))],
    ["put in again", events.toSpliced(at, 0, event)],
    ["overwritten with another one", events.with(at, other)],
    ["exchanged", events.with(at, other).with(other.position - 1, event)],
    ["at another time", events.with(at, { ...event, time: event.time + 1 })],
    ["other in a bit", events.with(at, withOtherBit(event, random))],
  ];
  const [name, forged] = pick(changes, random);
  return { name: `${event.position} (${event.type}) ${name}`, forged };
}

/** Another text that is JSON too, in the place of what the event says. */
function withOtherBit(event: SessionEvent, random: () => number): SessionEvent {
  const json = Buffer.from(JSON.stringify(event.data));
  for (let attempt = 0; attempt < 1000; attempt++) {
    const data = parsed(withFlippedBit(json, random).toString());
    if (data === undefined || JSON.stringify(data) === json.toString()) continue;
    // Whatever it has become: it is for the log and `verify` to say what they make of it.
    return Object.assign({ ...event }, { data });
  }
  return { ...event, time: event.time + 1 };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
