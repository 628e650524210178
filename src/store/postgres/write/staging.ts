/**
 * Creates a session from events that come in parts. Each part is committed under a number that no session
 * has; the last statement gives the number to the session. A process that dies leaves rows that nothing reads,
 * and a later import removes them.
 */

import { z } from "zod";
import {
  type Appended,
  type AppendOptions,
  type Codec,
  idOf,
  type NewEvent,
} from "../../../events/index.ts";
import {
  checkRevision,
  idConflict,
  nothingToAppend,
  rowsToAppend,
} from "../../log-rules/append-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { parseRows, position, type Sql } from "../database/rows.ts";
import { sqlState } from "../database/failures.ts";
import type { Heads } from "../heads/heads.ts";
import { storedId } from "./known-ids.ts";

const numberSchema = z.object({ number: position });
const publishedSchema = z.object({ first: position.nullable() });

const UNIQUE_VIOLATION = "23505";

export interface StagingOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly codec: Codec;
  readonly heads: Heads;
}

/** @throws TurnlogError as `EventLog.appendParts` */
export async function appendStaged(
  { sql, schema, codec, heads }: StagingOptions,
  session: string,
  parts: AsyncIterable<readonly NewEvent[]>,
  { origin }: AppendOptions,
): Promise<Appended> {
  const stored = await heads.stored(session);
  if (stored.isDeleted) throw deletedError(session);
  checkRevision({ session, revision: stored.revision }, "none");
  await dropAbandoned(sql, schema);
  const [row] = parseRows(
    numberSchema,
    await sql.query(
      `INSERT INTO ${schema}.staged (number)
       VALUES (nextval(pg_get_serial_sequence($1, 'number'))) RETURNING number`,
      [`${schema}.sessions`],
    ),
  );
  const number = row?.number ?? 0;
  let revision = 0;
  let first: NewEvent | undefined;
  let last: NewEvent | undefined;
  try {
    for await (const part of parts) {
      const rows = rowsToAppend(codec, { session, revision, isDeleted: false }, "any", part, {
        origin,
      });
      await insert(sql, schema, number, session, part, revision, rows);
      first ??= part[0];
      last = part.at(-1) ?? last;
      revision += part.length;
    }
    if (first === undefined || last === undefined) throw nothingToAppend({ session });
    const [published] = parseRows(
      publishedSchema,
      await sql.query(`SELECT ${schema}.publish($1, $2, $3, $4, $5) AS first`, [
        number,
        session,
        revision,
        first.time,
        last.time,
      ]),
    );
    const global = published?.first ?? null;
    if (global === null) {
      const now = await heads.stored(session);
      if (now.isDeleted) throw deletedError(session);
      checkRevision({ session, revision: now.revision }, "none");
    }
    return { revision, position: (global ?? 0) + revision - 1, repeated: false };
  } catch (error) {
    await drop(sql, schema, `number = ${number}`);
    throw error;
  }
}

async function insert(
  sql: Sql,
  schema: string,
  number: number,
  session: string,
  part: readonly NewEvent[],
  revision: number,
  rows: readonly { readonly position: number; readonly row: string }[],
): Promise<void> {
  const ids = part.flatMap((event, index) => {
    const id = idOf(event);
    return id === undefined ? [] : [{ id, position: revision + 1 + index }];
  });
  try {
    await sql.query(
      `WITH lines AS (
         INSERT INTO ${schema}.events (session, position, line)
         SELECT $1, p.position, l.line FROM unnest($2::bigint[]) WITH ORDINALITY AS p (position, n)
         JOIN string_to_table($3, E'\\n') WITH ORDINALITY AS l (line, n) USING (n)
       ), ids AS (
         INSERT INTO ${schema}.event_ids (session, id, position, global_position)
         SELECT $1, id, position, 0 FROM unnest($4::bytea[], $5::bigint[]) AS t (id, position)
       ) UPDATE ${schema}.staged SET since = now() WHERE number = $1`,
      [
        number,
        rows.map((row) => row.position),
        rows.map(({ row }) => row).join("\n"),
        ids.map(({ id }) => storedId(id)),
        ids.map((one) => one.position),
      ],
    );
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    throw idConflict(
      { session },
      "they are in it twice",
      ids.map(({ id }) => id),
    );
  }
}

async function dropAbandoned(sql: Sql, schema: string): Promise<void> {
  await drop(sql, schema, "since < now() - interval '1 day'");
}

async function drop(sql: Sql, schema: string, where: string): Promise<void> {
  await sql.query(
    `WITH gone AS (DELETE FROM ${schema}.staged WHERE ${where} RETURNING number),
     ids AS (DELETE FROM ${schema}.event_ids WHERE session IN (SELECT number FROM gone))
     DELETE FROM ${schema}.events WHERE session IN (SELECT number FROM gone)`,
  );
}
