/** What the database holds, read by SQL and decoded here: nothing of the log's own reading. */

import { crc32 } from "node:zlib";
import pg from "pg";
import { z } from "zod";

interface StoredEvent {
  readonly position: number;
  readonly type: string;
  readonly time: number;
  readonly data: unknown;
}

export interface Stored {
  readonly sessions: ReadonlyMap<string, readonly StoredEvent[]>;
  /** Names `<session>:<position>` in global order. */
  readonly order: ReadonlyMap<number, string>;
  readonly problems: readonly string[];
}

const count = z.coerce.number();
const rowSchema = z.object({
  id: z.string(),
  revision: count,
  position: count.nullable(),
  line: z.string().nullable(),
});
const runSchema = z.object({ position: count, id: z.string(), first: count, count });
const idSchema = z.object({ session: z.string(), id: z.string(), position: count });
const single = z.tuple([z.string(), z.number(), z.number(), z.unknown()]).rest(z.unknown());
const deltas = z
  .tuple([z.number(), z.string(), z.number(), z.number(), z.string(), z.string(), z.string()])
  .rest(z.unknown())
  .and(z.array(z.unknown()));
/** Seven characters of a checksum precede the JSON. */
const JSON_FROM = 7;

export async function readDatabase(connectionString: string, schema: string): Promise<Stored> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await readThrough(client, schema);
  } finally {
    await client.end();
  }
}

/** Of sessions that share no events. */
export async function readThrough(client: pg.Client, schema: string): Promise<Stored> {
  const query = async <Row>(text: string, row: z.ZodType<Row>): Promise<readonly Row[]> =>
    z.array(row).parse((await client.query(text)).rows);
  const rows = await query(
    `SELECT s.id, s.revision, e.position, e.line FROM ${schema}.sessions s
     LEFT JOIN ${schema}.events e ON e.session = s.number ORDER BY s.id, e.position`,
    rowSchema,
  );
  const runs = await query(
    `SELECT r.position, s.id, r.first, r.count FROM ${schema}.batches b, LATERAL ${schema}.runs_in(b.position, b.shares) r
     JOIN ${schema}.sessions s ON s.number = r.session ORDER BY r.position`,
    runSchema,
  );
  const known = await query(
    `SELECT s.id AS session, convert_from(i.id, 'UTF8') AS id, i.position FROM ${schema}.event_ids i
     JOIN ${schema}.sessions s ON s.number = i.session`,
    idSchema,
  );
  const problems: string[] = [];
  const sessions = new Map<string, StoredEvent[]>();
  const revisions = new Map<string, number>();
  const ids = new Map<string, number>();
  for (const { id, revision, position, line } of rows) {
    const events = sessions.get(id) ?? [];
    sessions.set(id, events);
    revisions.set(id, revision);
    if (position === null || line === null) continue;
    if (!isWhole(id, position, line)) {
      problems.push(`${id}: the row of ${position} is not as it was written`);
      continue;
    }
    for (const { name, at } of idsOf(position, line)) {
      const key = `${id}:${name}`;
      if (ids.has(key)) problems.push(`${id}: ${name} is in it twice`);
      ids.set(key, at);
    }
    const stored = eventsOf(position, line);
    if (stored[0]?.position !== events.length + 1)
      problems.push(`${id}: a gap or a duplicate at ${events.length + 1}`);
    events.push(...stored);
  }
  for (const [id, revision] of revisions)
    if (sessions.get(id)?.length !== revision) problems.push(`${id}: not ${revision} events`);
  for (const { session, id, position } of known) {
    const key = `${session}:${String(JSON.parse(id))}`;
    if (ids.get(key) !== position) problems.push(`${key} is not at ${position}`);
    ids.delete(key);
  }
  for (const [key, at] of ids) problems.push(`${key} at ${at} has no entry`);
  const order = new Map<number, string>();
  const next = new Map<string, number>();
  for (const run of runs)
    for (let index = 0; index < run.count; index++) {
      const at = run.first + index;
      if (order.has(run.position + index)) problems.push(`${run.position + index} is given twice`);
      if (at !== (next.get(run.id) ?? 1)) problems.push(`${run.id}:${at} is out of order`);
      order.set(run.position + index, `${run.id}:${at}`);
      next.set(run.id, at + 1);
    }
  for (const [id, events] of sessions)
    if (next.get(id) !== events.length + 1) problems.push(`${id}: the global order has no end`);
  return { sessions, order, problems };
}

function isWhole(session: string, position: number, line: string): boolean {
  const seed = (crc32(session) + position) >>> 0;
  const checksum = crc32(line.slice(JSON_FROM), seed).toString(36).padStart(JSON_FROM, "0");
  return line.startsWith(checksum);
}

/** Deltas have none. */
function idsOf(
  at: number,
  line: string,
): readonly { readonly name: string; readonly at: number }[] {
  const fields = single.safeParse(JSON.parse(line.slice(JSON_FROM))).data;
  const name = fields?.[4];
  return typeof name === "string" ? [{ name, at }] : [];
}

function eventsOf(last: number, line: string): readonly StoredEvent[] {
  const fields: unknown = JSON.parse(line.slice(JSON_FROM));
  const one = single.safeParse(fields).data;
  if (one !== undefined) {
    const [type, , time, data] = one;
    return [{ position: last, type, time, data }];
  }
  const [length, type, , time] = deltas.parse(fields);
  return Array.from({ length }, (_, index) => ({
    position: last - length + 1 + index,
    type,
    time,
    data: undefined,
  }));
}
