/** Appends of 256 sessions, beside a plain `INSERT … SELECT unnest` of the same rows in the same batches. */

import pg from "pg";
import { z } from "zod";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { aloneFrom } from "./events.ts";

const SESSIONS = 256;

export interface Appends {
  /** Events in one append. */
  readonly size: number;
  readonly events: number;
  readonly batches: number;
  readonly perSecond: number;
  readonly plainPerSecond: number;
}

const rowSchema = z.object({
  batch: z.string(),
  session: z.string(),
  position: z.string(),
  line: z.string(),
});

export async function measureAppends(
  connectionString: string,
  size: number,
  rounds: number,
  run: number,
): Promise<Appends> {
  const schema = `appends${size}_${run}`;
  await using log = await openPostgresLog({ connectionString, schema, listen: false });
  const append = async (session: string, count: number): Promise<void> => {
    for (let round = 0; round < count; round++)
      await log.append(session, "any", aloneFrom(round * size, size));
  };
  const names = Array.from({ length: SESSIONS }, (_, index) => `s${index}`);
  await Promise.all(names.map((name) => append(name, 1)));
  const begun = performance.now();
  await Promise.all(names.map((name) => append(name, rounds)));
  const ours = performance.now() - begun;
  const events = SESSIONS * rounds * size;
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(
    `SELECT xmin::text AS batch, session, position, line FROM ${schema}.events WHERE position > ${size} ORDER BY xmin::text::bigint`,
  );
  const batches = [...Map.groupBy(z.array(rowSchema).parse(rows), ({ batch }) => batch).values()];
  await client.query(
    `CREATE TABLE ${schema}.plain (session bigint, position bigint, line text COLLATE "C", PRIMARY KEY (session, position))`,
  );
  const plainBegun = performance.now();
  for (const batch of batches)
    await client.query(
      `INSERT INTO ${schema}.plain SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])`,
      [
        batch.map(({ session }) => session),
        batch.map(({ position }) => position),
        batch.map(({ line }) => line),
      ],
    );
  const plain = performance.now() - plainBegun;
  await client.query(`DROP TABLE ${schema}.plain`);
  await client.end();
  return {
    size,
    events,
    batches: batches.length,
    perSecond: (events / ours) * 1000,
    plainPerSecond: (events / plain) * 1000,
  };
}
