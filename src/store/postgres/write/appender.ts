/** Gives appends and forks their positions, unless another process writes first, and passes them to the committer. */

import { z } from "zod";
import {
  type Appended,
  elsewhere,
  type Codec,
  type ForkEvents,
  type ForkPoint,
  idOf,
} from "../../../events/index.ts";
import { AppendQueue } from "../../log-rules/append-queue.ts";
import { checkForkPoint, checkRevision, rowsToAppend } from "../../log-rules/append-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { type Database, position, storedJson, type Statements } from "../database/statements.ts";
import { type Head, type Heads, storedSessions, unknownSession } from "../heads/heads.ts";
import { ancestors } from "../read/reading.ts";
import { addTo, complete, type QueuedAppend, shareOf, storedId, writeBatch } from "./batch.ts";
import type { Committer } from "./committer.ts";

export interface AppenderOptions {
  readonly sql: Statements;
  readonly codec: Codec;
  readonly committer: Committer;
}

export class Appender extends AppendQueue<Head> {
  constructor({ sql, codec, committer }: AppenderOptions) {
    super({
      look: async (head, ids, link) =>
        head.number === 0 && link === undefined
          ? []
          : (await stored(sql, head, ids, link)).map(({ id, position: at, global }) => [
              id,
              { position: at, written: async () => global },
            ]),
      assertUsable: ({ session, epoch }, options) => {
        if (options.epoch !== undefined && options.epoch < epoch) throw elsewhere(session);
      },
      queue: (head, expected, events, options) => {
        const base = head.revision;
        const rows = rowsToAppend(codec, head, expected, events, options);
        const answer = Promise.withResolvers<Appended>();
        head.revision += events.length;
        const append = { head, expected, events, options, base, rows, answer };
        const appended = committer.append(append);
        noteIds(append, appended);
        return appended;
      },
    });
  }

  /** Decides again about appends to a session that another process has written to. */
  again(appends: readonly QueuedAppend[]): void {
    for (const { head, expected, events, options, answer } of appends)
      this.inLine(head, expected, events, options).then(answer.resolve, answer.reject);
  }
}

function noteIds({ head, events, base }: QueuedAppend, appended: Promise<Appended>): void {
  for (const [index, event] of events.entries()) {
    const id = idOf(event);
    if (id === undefined) continue;
    const position = base + 1 + index;
    const written = appended.then((end) => end.position - (end.revision - position));
    written.catch(() => {});
    head.ids.set(id, { position, written: () => written });
  }
}

// Makes appends idempotent: finds earlier events with the same ids in a session and in what it shares.

const idSchema = z.object({
  id: z.instanceof(Uint8Array).transform(textOf).pipe(storedJson(z.string())),
  position,
  global: position,
});

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

async function stored(
  sql: Statements,
  head: Head,
  ids: readonly string[],
  link: ForkPoint | undefined,
): Promise<readonly z.infer<typeof idSchema>[]> {
  const lines = await ancestors(sql, { ...head, link }, Number.MAX_SAFE_INTEGER);
  return await sql.rows(idSchema, `Appending to session ${head.session}`)`
    SELECT e.id, e.position, e.global_position AS global
    FROM unnest(${lines.map(({ number }) => number)}::bigint[], ${lines.map(({ to }) => to)}::bigint[]) AS s (number, last)
    JOIN turnlog.event_ids e ON e.session = s.number AND e.position <= s.last
    WHERE e.id = ANY (${ids.map(storedId)})`;
}

// Creates a session that shares another one's events, in one transaction.

export interface ForkingOptions {
  readonly sql: Database;
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
  const { sql, codec, heads, appender, committer } = options;
  const head = heads.of(session);
  const parent = heads.of(link.session);
  return await appender.run<Appended>(head, async () => {
    const repeated = await appender.repeated(head, events, link);
    if (repeated !== undefined) return repeated;
    // What was appended to the parent before this call must be in the database.
    if (parent !== head) await parent.line;
    await committer.idle();
    const appended = await sql.transaction(`Forking session ${link.session}`, (within) =>
      create(within, codec, head, link, events),
    );
    heads.reload(head);
    await head.loaded;
    return { appended };
  });
}

const createdSchema = z.object({ number: position });

async function create(
  sql: Statements,
  codec: Codec,
  head: Head,
  link: ForkPoint,
  events: ForkEvents,
): Promise<Appended> {
  const { session } = head;
  const from = events[0].time;
  // The row of the parent is locked: it cannot be deleted before the fork is committed.
  const both = [session, link.session];
  await sql.run()`SELECT 1 FROM turnlog.sessions WHERE id = ANY (${both}) ORDER BY id FOR NO KEY UPDATE`;
  const stored = await storedSessions(sql, both);
  const own = stored.get(session) ?? unknownSession;
  if (own.isDeleted) throw deletedError(session);
  checkRevision({ session, revision: own.revision }, "none");
  const { revision, isDeleted } = stored.get(link.session) ?? unknownSession;
  checkForkPoint({ session: link.session, revision, isDeleted }, link, session);
  const base = link.position;
  const rows = rowsToAppend(codec, { session, ...own }, "none", events, { origin: "copied", base });
  const inserted = await sql.rows(createdSchema)`
    INSERT INTO turnlog.sessions AS s (id, revision, created_at, updated_at, parent, parent_position)
    VALUES (${session}, ${base}, ${from}, ${from}, ${link.session}, ${base})
    ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, created_at = excluded.created_at,
      parent = excluded.parent, parent_position = excluded.parent_position
    WHERE s.revision = 0 RETURNING number`;
  if (inserted.length === 0) checkRevision({ session, revision: base }, "none");
  const answer = Promise.withResolvers<Appended>();
  const append = { head, expected: "none", events, options: {}, base, rows, answer } as const;
  const share = shareOf(append);
  addTo(share, append);
  head.open.clear();
  const { outcomes } = await writeBatch(sql, [complete(share)], 0);
  const first = outcomes[0]?.first ?? 0;
  const end = base + events.length;
  return { revision: end, position: first + events.length - 1, repeated: false };
}
