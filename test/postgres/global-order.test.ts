/**
 * Two processes' logs that append to the same sessions at random while both read the global order, and blocks of
 * deltas grow, close and change hands. Checked by SQL of the test's own.
 */

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { EventLog, NewEvent } from "../../src/events/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { readDatabase } from "../cluster/database-reader.ts";
import { seededRandom, type Random } from "../support/random.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

/** One to three deltas of a block that continues for some appends; now and then many, or the end of the block. */
function someEvents(random: Random, time: number): readonly NewEvent[] {
  const data = { id: `${time >> 6}` };
  const count = random.below(20) === 0 ? 300 : 1 + random.below(3);
  const deltas = Array.from({ length: count }, (): NewEvent => {
    return {
      type: "part.text-delta",
      time,
      data: { ...data, text: "x".repeat(1 + random.below(20)) },
    };
  });
  return random.below(30) === 0 ? [...deltas, { type: "part.text-end", time, data }] : deltas;
}

describe.skipIf(!several)(`two logs on one database${needs}`, () => {
  it.each([
    { sessions: 6, appends: 150 },
    // So many that each log writes two batches at a time.
    { sessions: 160, appends: 8 },
  ])(
    "give every event of $sessions sessions one place, which no reader misses, whatever is joined meanwhile",
    async (given) => {
      const seed = randomUUID();
      const schema = `random_order_${given.sessions}`;
      const { connectionString = "" } = server ?? {};
      const open = (): Promise<EventLog> =>
        openPostgresLog({ connectionString, schema, pollingMs: 5 });
      await using one = await open();
      await using two = await open();
      const logs = [one, two];
      let writing = logs.length * given.sessions;
      const write = async (log: EventLog, session: number, node: number): Promise<void> => {
        const random = seededRandom(`${seed} ${session} ${node}`);
        for (let time = 0; time < given.appends; time++)
          await log.append(`s${session}`, "any", someEvents(random, time));
        writing--;
      };
      const read = async (log: EventLog): Promise<readonly string[]> => {
        const seen: string[] = [];
        let from = 1;
        for (let isLast = false; !isLast;) {
          isLast = writing === 0;
          for await (const { position, session, event } of log.readAll({ from })) {
            seen[position] = `${session}:${event.position}`;
            from = position + 1;
          }
        }
        return seen;
      };
      const [seenByOne, seenByTwo] = await Promise.all([
        read(one),
        read(two),
        ...logs.flatMap((log, node) =>
          Array.from({ length: given.sessions }, (_, session) => write(log, session, node)),
        ),
      ]);
      const { sessions, order, problems } = await readDatabase(connectionString, schema);
      expect(problems, `seed ${seed}`).toEqual([]);
      const stored: string[] = [];
      for (const [position, event] of order) stored[position] = event;
      expect(seenByOne, `seed ${seed}`).toEqual(stored);
      expect(seenByTwo, `seed ${seed}`).toEqual(stored);
      const events = [...sessions.values()].reduce((sum, { length }) => sum + length, 0);
      expect(order.size, `seed ${seed}`).toBe(events);
    },
  );
});
