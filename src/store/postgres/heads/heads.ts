/**
 * The heads of the sessions in use, and the list of all sessions. Heads that are needed at the same time are read in
 * one query.
 */

import { z } from "zod";
import {
  type ForkPoint,
  defined,
  jsonSchema,
  type DeletedSession,
  type SessionEntry,
} from "../../../events/index.ts";
import { OpenRow } from "../../event-rows/index.ts";
import type { LiveTail } from "../../following/live-tail.ts";
import { HeadCache, type IdPlace, type WaitingHead } from "../../log-rules/heads.ts";
import { position, type Statements } from "../database/statements.ts";

const done: Promise<void> = Promise.resolve();

export class Heads extends HeadCache<Head> {
  readonly #sql: Statements;
  #asked: Map<string, PromiseWithResolvers<StoredSession>> | undefined;

  constructor(sql: Statements, tails: ReadonlyMap<string, LiveTail>) {
    super(tails);
    this.#sql = sql;
  }

  protected begin(session: string, tail: LiveTail | undefined): Head {
    const head: Head = {
      session,
      loaded: done,
      ready: false,
      ...unknownSession,
      committed: 0,
      line: done,
      waiting: 0,
      queued: 0,
      ids: new Map(),
      open: new OpenRow(session),
      tail,
    };
    this.reload(head);
    return head;
  }

  /** Reads the entry again. Appends to the session wait until then, and until `after` has run. */
  reload(head: Head, after: () => void = () => {}): void {
    head.ready = false;
    head.loaded = this.stored(head.session).then((stored) => {
      head.open.clear();
      Object.assign(head, stored, { committed: stored.revision, ready: true });
      head.tail?.learn(stored.revision);
      after();
    });
    this.dropUnread(head);
  }

  /** The entry in the database, read together with all others that are needed now. */
  async stored(session: string): Promise<StoredSession> {
    if (this.#asked === undefined) {
      this.#asked = new Map();
      queueMicrotask(() => void this.#look());
    }
    const asked = this.#asked.get(session) ?? Promise.withResolvers<StoredSession>();
    this.#asked.set(session, asked);
    return await asked.promise;
  }

  async #look(): Promise<void> {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked === undefined) return;
    try {
      const found = await storedSessions(this.#sql, [...asked.keys()]);
      for (const [session, { resolve }] of asked) resolve(found.get(session) ?? unknownSession);
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  }
}

// The entries of sessions in the database.

const sessionSchema = z.object({
  id: z.string(),
  number: position,
  revision: position,
  parent: z.string().nullable(),
  parent_position: position.nullable(),
  is_deleted: z.boolean(),
  epoch: position,
});

export const unknownSession: StoredSession = {
  number: 0,
  revision: 0,
  link: undefined,
  isDeleted: false,
  epoch: 0,
};

export async function storedSessions(
  sql: Statements,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredSession>> {
  const rows = await sql.rows(sessionSchema, "Reading sessions")`
    SELECT id, number, revision, parent, parent_position, is_deleted, epoch FROM turnlog.sessions
    WHERE id = ANY (${ids})`;
  return new Map(
    rows.map(({ id, number, revision, is_deleted, epoch, ...parent }) => {
      const stored = { number, epoch, isDeleted: is_deleted, link: linkOf(parent) };
      return [id, { ...stored, revision: is_deleted ? 0 : revision }];
    }),
  );
}

interface Parent {
  readonly parent: string | null;
  readonly parent_position: number | null;
}

export function linkOf({ parent, parent_position }: Parent): ForkPoint | undefined {
  if (parent === null || parent_position === null) return undefined;
  return { session: parent, position: parent_position };
}

// A head: what this process knows of one session in use. The database decides; see `write/committer.ts`.

/** A session's entry in the database. */
export interface StoredSession {
  /** Names the session in all other tables; 0 before the session exists. */
  readonly number: number;
  readonly revision: number;
  readonly link: ForkPoint | undefined;
  readonly isDeleted: boolean;
  /** Of the newest claim; 0 before the first. */
  readonly epoch: number;
}

export interface Head extends WaitingHead {
  loaded: Promise<void>;
  ready: boolean;
  number: number;
  isDeleted: boolean;
  epoch: number;
  revision: number;
  committed: number;
  link: ForkPoint | undefined;
  readonly ids: Map<string, IdPlace>;
  readonly open: OpenRow;
}

// The list of sessions, and of deleted ones, page by page.

const PAGE = 500;

const entrySchema = z.object({
  id: z.string(),
  revision: position,
  created_at: z.number(),
  updated_at: z.number(),
  parent: z.string().nullable(),
  parent_position: position.nullable(),
  deleted_by: z.string().nullable(),
  spent: z.string().nullable(),
});

/** By name, in the order of their characters. */
export async function* listSessions(sql: Statements, prefix: string): AsyncGenerator<SessionEntry> {
  for await (const row of pages(sql, prefix, false)) {
    const forkedFrom = linkOf(row);
    yield {
      session: row.id,
      revision: row.revision,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
    };
  }
}

export async function* deletedSessions(sql: Statements): AsyncGenerator<DeletedSession> {
  for await (const { id: session, revision, deleted_by, spent } of pages(sql, "", true)) {
    const told = defined({ by: deleted_by ?? undefined });
    if (spent === null) yield { session, revision, ...told };
    else yield { session, revision, ...told, spent: jsonSchema.parse(JSON.parse(spent)) };
  }
}

async function* pages(
  sql: Statements,
  prefix: string,
  isDeleted: boolean,
): AsyncGenerator<z.infer<typeof entrySchema>> {
  let after = "";
  for (;;) {
    const rows = await sql.rows(entrySchema, "Listing sessions")`
      SELECT id, revision, created_at, updated_at, parent, parent_position, deleted_by, spent FROM turnlog.sessions
      WHERE id > ${after} AND starts_with(id, ${prefix}) AND is_deleted = ${isDeleted} AND revision > 0
      ORDER BY id LIMIT ${PAGE}`;
    yield* rows;
    after = rows.at(-1)?.id ?? "";
    if (rows.length < PAGE) return;
  }
}
