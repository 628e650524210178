/** Creates a session that shares another one's events, in one transaction. */

import { z } from "zod";
import type { Appended, Codec, ForkEvents, ForkPoint } from "../../../events/index.ts";
import { checkForkPoint, checkRevision, rowsToAppend } from "../../log-rules/append-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position, type Sql, type SqlPool } from "../database/rows.ts";
import { storedSessions, unknownSession, type Head } from "../heads/stored-sessions.ts";
import type { Heads } from "../heads/heads.ts";
import type { Appender } from "./appender.ts";
import { addTo, complete, shareOf, writeBatch } from "./batch.ts";
import type { Committer } from "./committer.ts";
import { findIds } from "./known-ids.ts";

export interface ForkingOptions {
  readonly pool: SqlPool;
  readonly schema: string;
  readonly codec: Codec;
  readonly heads: Heads;
  readonly appender: Appender;
  readonly committer: Committer;
}

/** @throws TurnlogError as `EventLog.fork` */
export async function fork(
  options: ForkingOptions,
  session: string,
  link: ForkPoint,
  events: ForkEvents,
): Promise<Appended> {
  const { pool, schema, heads, appender, committer } = options;
  const head = heads.of(session);
  const parent = heads.of(link.session);
  return await appender.run<Appended>(head, async () => {
    const repeated = await findIds(pool, schema, head, events, link);
    if (repeated !== undefined) return repeated;
    // What was appended to the parent before this call must be in the database.
    if (parent !== head) await parent.line;
    await committer.idle();
    const appended = await pool
      .transaction((sql) => create(sql, options, head, link, events))
      .catch((error: unknown) => {
        throw databaseFailure(error, `Forking session ${link.session}`);
      });
    heads.reload(head);
    await head.loaded;
    return { appended };
  });
}

const createdSchema = z.object({ number: position });

async function create(
  sql: Sql,
  { schema, codec }: ForkingOptions,
  head: Head,
  link: ForkPoint,
  events: ForkEvents,
): Promise<Appended> {
  const { session } = head;
  const from = events[0].time;
  // The row of the parent is locked: it cannot be deleted before the fork is committed.
  await sql.query(
    `SELECT 1 FROM ${schema}.sessions WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`,
    [[session, link.session]],
  );
  const stored = await storedSessions(sql, schema, [session, link.session]);
  const own = stored.get(session) ?? unknownSession;
  if (own.isDeleted) throw deletedError(session);
  checkRevision({ session, revision: own.revision }, "none");
  const { revision, isDeleted } = stored.get(link.session) ?? unknownSession;
  checkForkPoint({ session: link.session, revision, isDeleted }, link, session);
  const base = link.position;
  const rows = rowsToAppend(codec, { session, ...own }, "none", events, { origin: "copied", base });
  const inserted = await sql.query(
    `INSERT INTO ${schema}.sessions (id, revision, created_at, updated_at, parent, parent_position)
     VALUES ($1, $2, $3, $3, $4, $2)
     ON CONFLICT (id) DO UPDATE SET revision = $2, created_at = $3, parent = $4, parent_position = $2
     WHERE sessions.revision = 0 RETURNING number`,
    [session, base, from, link.session],
  );
  if (parseRows(createdSchema, inserted).length === 0)
    checkRevision({ session, revision: base }, "none");
  const answer = Promise.withResolvers<Appended>();
  const append = { head, expected: "none", events, options: {}, base, rows, answer } as const;
  const share = shareOf(append);
  addTo(share, append);
  head.open.clear();
  const { outcomes } = await writeBatch(sql, schema, [complete(share)], 0);
  const first = outcomes[0]?.first ?? 0;
  const end = base + events.length;
  return { revision: end, position: first + events.length - 1, repeated: false };
}
