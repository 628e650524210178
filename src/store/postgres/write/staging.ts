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
import type { EventRow } from "../../event-rows/index.ts";
import {
  checkRevision,
  idConflict,
  nothingToAppend,
  rowsToAppend,
} from "../../log-rules/append-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { sqlState } from "../database/failures.ts";
import { position, type Statements } from "../database/statements.ts";
import type { Heads } from "../heads/heads.ts";
import { storedId } from "./batch.ts";

const numberSchema = z.object({ number: position });
const publishedSchema = z.object({ first: position.nullable() });

const UNIQUE_VIOLATION = "23505";

export interface StagingOptions {
  readonly sql: Statements;
  readonly codec: Codec;
  readonly heads: Heads;
}

/** @throws TurnlogError as `EventLog.appendParts` */
export async function appendStaged(
  { sql, codec, heads }: StagingOptions,
  session: string,
  parts: AsyncIterable<readonly NewEvent[]>,
  { origin }: AppendOptions,
): Promise<Appended> {
  const assertNew = async (): Promise<void> => {
    const { isDeleted, revision } = await heads.stored(session);
    if (isDeleted) throw deletedError(session);
    checkRevision({ session, revision }, "none");
  };
  await assertNew();
  await sql.run()`
    WITH gone AS (DELETE FROM turnlog.staged WHERE since < now() - interval '1 day' RETURNING number),
    ids AS (DELETE FROM turnlog.event_ids WHERE session IN (SELECT number FROM gone))
    DELETE FROM turnlog.events WHERE session IN (SELECT number FROM gone)`;
  const [{ number } = { number: 0 }] = await sql.rows(numberSchema)`
    INSERT INTO turnlog.staged (number)
    VALUES (nextval(pg_get_serial_sequence('turnlog.sessions', 'number'))) RETURNING number`;
  let revision = 0;
  let [created, updated] = [0, 0];
  try {
    for await (const part of parts) {
      const known = { session, revision, isDeleted: false };
      const rows = rowsToAppend(codec, known, "any", part, { origin });
      await insert(sql, number, known, part, rows);
      if (revision === 0) created = part[0]?.time ?? 0;
      updated = part.at(-1)?.time ?? updated;
      revision += part.length;
    }
    if (revision === 0) throw nothingToAppend({ session });
    const [published] = await sql.rows(publishedSchema)`
      SELECT turnlog.publish(${number}, ${session}, ${revision}, ${created}, ${updated}) AS first`;
    const global = published?.first ?? null;
    if (global === null) await assertNew();
    return { revision, position: (global ?? 0) + revision - 1, repeated: false };
  } catch (error) {
    await sql.run()`
      WITH gone AS (DELETE FROM turnlog.staged WHERE number = ${number}),
      ids AS (DELETE FROM turnlog.event_ids WHERE session = ${number})
      DELETE FROM turnlog.events WHERE session = ${number}`;
    throw error;
  }
}

async function insert(
  sql: Statements,
  number: number,
  { session, revision }: { readonly session: string; readonly revision: number },
  part: readonly NewEvent[],
  rows: readonly EventRow[],
): Promise<void> {
  const ids = part.flatMap((event, index) => {
    const id = idOf(event);
    return id === undefined ? [] : [{ id, position: revision + 1 + index }];
  });
  try {
    await sql.run()`
      WITH lines AS (
        INSERT INTO turnlog.events (session, position, line)
        SELECT ${number}, p.position, l.line FROM unnest(${rows.map((row) => row.position)}::bigint[]) WITH ORDINALITY AS p (position, n)
        JOIN string_to_table(${rows.map(({ row }) => row).join("\n")}, E'\\n') WITH ORDINALITY AS l (line, n) USING (n)
      ), ids AS (
        INSERT INTO turnlog.event_ids (session, id, position, global_position)
        SELECT ${number}, id, position, 0
        FROM unnest(${ids.map(({ id }) => storedId(id))}::bytea[], ${ids.map((one) => one.position)}::bigint[]) AS t (id, position)
      ) UPDATE turnlog.staged SET since = now() WHERE number = ${number}`;
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    const twice = ids.map(({ id }) => id);
    throw idConflict({ session }, "they are in it twice", twice);
  }
}
