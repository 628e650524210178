/** Makes appends idempotent: finds earlier events with the same ids in a session and in what it shares. */

import { z } from "zod";
import type { Appended, ForkPoint, NewEvent } from "../../../events/index.ts";
import { idsOf, repeatedAt } from "../../log-rules/append-rules.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position, storedJson, type Sql } from "../database/rows.ts";
import type { Head } from "../heads/stored-sessions.ts";
import { ancestors } from "../read/span.ts";

const idSchema = z.object({
  id: z.instanceof(Uint8Array).transform(textOf).pipe(storedJson(z.string())),
  position,
  global: position,
});

/** An id may hold any character, also the one that PostgreSQL's texts cannot: it is stored as JSON bytes. */
export function storedId(id: string): Buffer {
  return Buffer.from(JSON.stringify(id));
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

/**
 * What an earlier append of the same events returned, or undefined if none of their ids is known.
 * `link`: the link of a fork that is about to be created.
 * @throws TurnlogError `EVENT_ID_CONFLICT` when only some ids are known, or one id is used twice
 */
export async function findIds(
  sql: Sql,
  schema: string,
  head: Head,
  events: readonly NewEvent[],
  link: ForkPoint | undefined = head.link,
): Promise<{ readonly appended: Promise<Appended> } | undefined> {
  const ids = idsOf(head, events);
  const found = new Map<string, { readonly position: number; readonly written: Promise<number> }>();
  for (const id of ids) {
    const queued = head.ids.get(id);
    if (queued !== undefined) found.set(id, queued);
  }
  const rest = ids.filter((id) => !found.has(id));
  if (rest.length > 0 && (head.number > 0 || link !== undefined)) {
    for (const { id, position: at, global } of await stored(sql, schema, head, rest, link))
      if (!found.has(id)) found.set(id, { position: at, written: Promise.resolve(global) });
  }
  const last = repeatedAt(head, ids, found);
  if (last === undefined) return undefined;
  const { position: revision, written } = last;
  return { appended: written.then((global) => ({ revision, position: global, repeated: true })) };
}

async function stored(
  sql: Sql,
  schema: string,
  head: Head,
  ids: readonly string[],
  link: ForkPoint | undefined,
): Promise<readonly z.infer<typeof idSchema>[]> {
  const lines = await ancestors(sql, schema, { ...head, link }, Number.MAX_SAFE_INTEGER);
  const rows = await sql
    .query(
      `SELECT e.id, e.position, e.global_position AS global
       FROM unnest($1::bigint[], $2::bigint[]) AS s (number, last)
       JOIN ${schema}.event_ids e ON e.session = s.number AND e.position <= s.last
       WHERE e.id = ANY ($3)`,
      [lines.map(({ number }) => number), lines.map(({ to }) => to), ids.map(storedId)],
    )
    .catch((error: unknown) => {
      throw databaseFailure(error, `Appending to session ${head.session}`);
    });
  return parseRows(idSchema, rows);
}
