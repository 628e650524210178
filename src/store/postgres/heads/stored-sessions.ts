/** Reads the entries of sessions. */

import { z } from "zod";
import type { ForkPoint } from "../../../events/index.ts";
import { parseRows, position, type Sql } from "../database/rows.ts";
import type { OpenRow } from "../../event-rows/index.ts";
import type { LiveTail } from "../../following/live-tail.ts";

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
  sql: Sql,
  schema: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredSession>> {
  const rows = await sql.query(
    `SELECT id, number, revision, parent, parent_position, is_deleted, epoch FROM ${schema}.sessions WHERE id = ANY ($1)`,
    [ids],
  );
  return new Map(
    parseRows(sessionSchema, rows).map(({ id, number, revision, is_deleted, epoch, ...parent }) => {
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

export interface Head {
  readonly session: string;
  /** Settles when the head agrees with the database. Until then appends wait. */
  loaded: Promise<void>;
  ready: boolean;
  number: number;
  isDeleted: boolean;
  epoch: number;
  /** The last position, including queued events. */
  revision: number;
  committed: number;
  link: ForkPoint | undefined;
  /** Appends that wait for the head, or for ids to be looked up, in the order of their calls. */
  line: Promise<void>;
  waiting: number;
  /** Appends that are queued or being written. */
  queued: number;
  /** Positions of queued events with an id. */
  readonly ids: Map<string, QueuedId>;
  readonly open: OpenRow;
  tail: LiveTail | undefined;
}

interface QueuedId {
  readonly position: number;
  /** Resolves with the event's global position when it is written. */
  readonly written: Promise<number>;
}
