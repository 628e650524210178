/** Bytes in the database for deltas of 1 to 20 bytes that are appended one at a time. */

import pg from "pg";
import { z } from "zod";
import type { NewEvent } from "../../src/events/index.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";

const SESSIONS = 32;
const PER_BLOCK = 300;

export interface Bytes {
  readonly deltas: number;
  readonly contentBytes: number;
  readonly databaseBytes: number;
  readonly byTable: Readonly<Record<string, number>>;
}

const sizeSchema = z.array(z.object({ name: z.string(), bytes: z.coerce.number() }));

export async function measureBytes(connectionString: string, blocks: number): Promise<Bytes> {
  const schema = "bytes";
  await using log = await openPostgresLog({ connectionString, schema, listen: false });
  let contentBytes = 0;
  const write = async (session: string): Promise<void> => {
    for (let index = 1; index <= blocks * PER_BLOCK; index++) {
      const length = 1 + ((index * 7919) % 20);
      contentBytes += length;
      const data = { id: "0" };
      const time = 1_790_000_000_000 + index * 13;
      const text = "etaoin shrdlu cmfwypv".slice(0, length);
      const delta: NewEvent = { type: "part.text-delta", time, data: { ...data, text } };
      const end: NewEvent = { type: "part.text-end", time, data };
      await log.append(session, "any", index % PER_BLOCK === 0 ? [delta, end] : [delta]);
    }
  };
  await Promise.all(Array.from({ length: SESSIONS }, (_, index) => write(`s${index}`)));
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query("VACUUM");
  const { rows } = await client.query(
    `SELECT relname AS name, pg_total_relation_size(c.oid) AS bytes FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '${schema}' AND relkind = 'r'`,
  );
  await client.end();
  const sizes = sizeSchema.parse(rows);
  return {
    deltas: SESSIONS * blocks * PER_BLOCK,
    contentBytes,
    databaseBytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    byTable: Object.fromEntries(sizes.map(({ name, bytes }) => [name, bytes])),
  };
}
