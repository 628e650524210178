/**
 * How many events of about 150 bytes a second the log takes, from one session to a thousand at once,
 * each of which waits for its append before the next: beside `level` with batches of as many rows, and
 * with one put at a time.
 */

import { join } from "node:path";
import { Level } from "level";
import type { NewEvent } from "../../src/events/index.ts";
import { openLog } from "../../src/public/index.ts";
import { inFolder } from "../folder.ts";
import { spread, type Spread } from "../statistics.ts";

type Durability = "sync" | "os";

export interface Appending {
  readonly durability: Durability;
  readonly sessions: number;
  /** Events a second. */
  readonly log: Spread;
  readonly level: Spread;
  /** Of one put at a time. */
  readonly put: Spread;
  /** Of the log ÷ of `level`'s batches, round by round. */
  readonly toLevel: Spread;
  /** Of the log ÷ of one put at a time. */
  readonly toPut: Spread;
}

export interface AppendingOptions {
  readonly sessions: readonly number[];
  readonly durabilities: readonly Durability[];
  readonly rounds: number;
  /** Milliseconds that each of the three is given in a round. */
  readonly roundMs: number;
}

const CONTENT = "What is said in the rows of an event log is mostly text, and not much at a time. ";

export async function measureAppending(options: AppendingOptions): Promise<readonly Appending[]> {
  const measured: Appending[] = [];
  for (const durability of options.durabilities) {
    for (const sessions of options.sessions) {
      measured.push(await measureOne(durability, sessions, options));
    }
  }
  return measured;
}

async function measureOne(
  durability: Durability,
  sessions: number,
  { rounds, roundMs }: AppendingOptions,
): Promise<Appending> {
  return await inFolder(async (dir) => {
    await using log = await openLog({ dir: join(dir, "store"), durability });
    const database = new Level(join(dir, "raw"));
    await database.open();
    const sync = durability === "sync";
    const rates: { log: number; level: number; put: number }[] = [];
    // Round 0 is not counted: it loads and compiles what all of them use.
    for (let round = 0; round <= rounds; round++) {
      const rate = {
        log: await perSecond(roundMs, sessions, (session) => {
          return log.append(`session-${session}`, "any", [eventOf(session)]);
        }),
        level: await batchesPerSecond(database, { sync, events: sessions, roundMs }),
        put: await perSecond(roundMs, 1, () => database.put(nextKey(0), value, { sync })),
      };
      if (round > 0) rates.push(rate);
    }
    await database.close();
    return {
      durability,
      sessions,
      log: spread(rates.map((rate) => rate.log)),
      level: spread(rates.map((rate) => rate.level)),
      put: spread(rates.map((rate) => rate.put)),
      toLevel: spread(rates.map((rate) => rate.log / rate.level)),
      toPut: spread(rates.map((rate) => rate.log / rate.put)),
    };
  });
}

function eventOf(session: number): NewEvent {
  return {
    type: "message.queued",
    time: 1_790_000_000_000,
    data: { id: `message-${session}`, content: CONTENT, delivery: "steer" },
  };
}

/** A row of the size that the log stores of such an event. */
const value = JSON.stringify([
  "12345678",
  "message.queued",
  1,
  1_790_000_000_000,
  eventOf(1000).data,
]);

let counted = 0;

/** Keys as long as the log's. */
function nextKey(session: number): string {
  return `e/session-${session}/${(counted++).toString(36).padStart(11, "0")}`;
}

/** Everybody does it again and again until the time is over. */
async function perSecond(
  roundMs: number,
  everybody: number,
  act: (who: number) => Promise<unknown>,
): Promise<number> {
  let done = 0;
  const start = performance.now();
  const end = start + roundMs;
  const goOn = async (who: number): Promise<void> => {
    while (performance.now() < end) {
      await act(who);
      done++;
    }
  };
  await Promise.all(Array.from({ length: everybody }, (_, who) => goOn(who)));
  return (done * 1000) / (performance.now() - start);
}

async function batchesPerSecond(
  database: Level,
  { sync, events, roundMs }: { sync: boolean; events: number; roundMs: number },
): Promise<number> {
  const batches = await perSecond(roundMs, 1, async () => {
    const batch = database.batch();
    for (let row = 0; row < events; row++) batch.put(nextKey(row), value);
    await batch.write({ sync });
  });
  return batches * events;
}
