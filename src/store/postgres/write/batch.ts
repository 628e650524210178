/** One call of the SQL function `append`: the queued appends of many sessions, as arrays. */

import { z } from "zod";
import { idOf } from "../../../events/index.ts";
import { mergedRow, type EventRow } from "../../event-rows/index.ts";
import { parseRows, position, type Sql } from "../database/index.ts";
import { storedId } from "./known-ids.ts";
import type { QueuedAppend } from "./queued-append.ts";

/** A session's part of a batch. */
export interface SessionShare {
  readonly appends: QueuedAppend[];
  /** Rows to insert, by last position. */
  readonly rows: Map<number, string>;
  /** Last positions of stored rows that a merged row replaces. */
  readonly replaced: number[];
  readonly ids: { readonly id: string; readonly position: number }[];
  readonly base: number;
  readonly createdAt: number;
  /** The epoch of the claim that its events need; undefined if they need none. */
  epoch: number | undefined;
  revision: number;
  updatedAt: number;
}

/** What the database did with a share. */
export interface Outcome {
  /** Names the session in all other tables. */
  readonly number: number | null;
  readonly accepted: boolean;
  /** The global position of the share's first event, if it was accepted. */
  readonly first_position: number | null;
}

const outcomeSchema: z.ZodType<Outcome> = z.object({
  number: position.nullable(),
  accepted: z.boolean(),
  first_position: position.nullable(),
});

export function shareOf(append: QueuedAppend): SessionShare {
  return {
    appends: [],
    rows: new Map(),
    replaced: [],
    ids: [],
    base: append.base,
    createdAt: append.rows[0]?.events[0]?.time ?? 0,
    epoch: append.options.epoch,
    revision: append.base,
    updatedAt: 0,
  };
}

export function addTo(share: SessionShare, append: QueuedAppend): void {
  share.appends.push(append);
  share.epoch ??= append.options.epoch;
  for (const row of append.rows) {
    merge(share, append.head.session, append.head.loose.take(row));
    share.rows.set(row.position, row.row);
    for (const [index, event] of row.events.entries()) {
      const id = idOf(event);
      const at = row.position - row.events.length + 1 + index;
      if (id !== undefined) share.ids.push({ id, position: at });
      share.updatedAt = event.time;
    }
    share.revision = row.position;
  }
}

/** Puts one row in the place of several small ones, which may be stored or part of this batch. */
function merge(share: SessionShare, session: string, loose: readonly EventRow[]): void {
  const merged = mergedRow(session, loose);
  if (merged === undefined) return;
  for (const { position: last } of loose) if (!share.rows.delete(last)) share.replaced.push(last);
  share.rows.set(merged.position, merged.row);
}

/** Resolves with the outcome of each share, in order. All rows of a share are written, or none. */
export async function writeBatch(
  sql: Sql,
  schema: string,
  shares: readonly (readonly [session: string, share: SessionShare])[],
): Promise<readonly Outcome[]> {
  const all = shares.map(([, share]) => share);
  const lines: string[] = [];
  const rows: [number[], number[]] = [[], []];
  const replaced: [number[], number[]] = [[], []];
  const ids: [number[], Buffer[], number[]] = [[], [], []];
  for (const [index, share] of all.entries()) {
    const n = index + 1;
    for (const [last, line] of share.rows) {
      rows[0].push(n);
      rows[1].push(last);
      lines.push(line);
    }
    for (const last of share.replaced) {
      replaced[0].push(n);
      replaced[1].push(last);
    }
    for (const { id, position: at } of share.ids) {
      ids[0].push(n);
      ids[1].push(storedId(id));
      ids[2].push(at);
    }
  }
  const answered = await sql.query(
    `SELECT * FROM ${schema}.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      shares.map(([session]) => session),
      all.map(({ base }) => base),
      all.map(({ epoch }) => epoch ?? null),
      all.map(({ revision }) => revision),
      all.map(({ createdAt }) => createdAt),
      all.map(({ updatedAt }) => updatedAt),
      ...rows,
      // No line contains a line break: JSON escapes it.
      lines.join("\n"),
      ...replaced,
      ...ids,
    ],
  );
  return parseRows(outcomeSchema, answered);
}
