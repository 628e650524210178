/** One call of the SQL function `append`: the queued appends of many sessions, as arrays. */

import { z } from "zod";
import {
  idOf,
  type Appended,
  type AppendOptions,
  type ExpectedRevision,
  type NewEvent,
} from "../../../events/index.ts";
import type { EventRow, TakenRows } from "../../event-rows/index.ts";
import { position, type Statements } from "../database/statements.ts";
import type { Head } from "../heads/heads.ts";

/** An append that has its positions and waits to be written. */
export interface QueuedAppend {
  readonly head: Head;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
  readonly options: AppendOptions;
  /** The position that its first row follows. */
  readonly base: number;
  readonly rows: readonly EventRow[];
  readonly answer: PromiseWithResolvers<Appended>;
}

/** A session's part of a batch. */
export interface SessionShare {
  readonly head: Head;
  readonly appends: QueuedAppend[];
  readonly rows: EventRow[];
  readonly ids: { readonly id: string; readonly position: number }[];
  readonly base: number;
  readonly createdAt: number;
  /** The epoch of the claim that its events need; undefined if they need none. */
  epoch: number | undefined;
  revision: number;
  updatedAt: number;
}

/** A share whose rows are as they are stored: small ones share one. */
export interface CompleteShare extends SessionShare {
  readonly taken: TakenRows;
}

/** What the database did with a share. */
interface Outcome {
  /** Names the session in all other tables. */
  readonly number: number;
  /** The global position of the share's first event. */
  readonly first: number;
}

/** What the database did with a batch; undefined for shares that it refused. */
export interface Written {
  readonly outcomes: readonly (Outcome | undefined)[];
  /** The row of the global order that the next small batch may join; 0 without one. */
  readonly batch: number;
}

const writtenSchema = z.object({
  numbers: z.array(position.nullable()),
  first_position: position,
  batch: position,
});

export function shareOf(append: QueuedAppend): SessionShare {
  return {
    head: append.head,
    appends: [],
    rows: [],
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
    share.rows.push(row);
    for (const [index, event] of row.events.entries()) {
      const id = idOf(event);
      const at = row.position - row.events.length + 1 + index;
      if (id !== undefined) share.ids.push({ id, position: at });
      share.updatedAt = event.time;
    }
    share.revision = row.position;
  }
}

export function complete(share: SessionShare): CompleteShare {
  return { ...share, taken: share.head.open.take(share.rows) };
}

/** The row that the session ends with. */
export function newestRow({ taken }: CompleteShare): EventRow | undefined {
  return taken.open ?? taken.rows.at(-1);
}

/** All rows of a share are written, or none. `batch`: the row of the global order that this process wrote last. */
export async function writeBatch(
  sql: Statements,
  shares: readonly CompleteShare[],
  batch: number,
): Promise<Written> {
  const rows = { sessions: [] as number[], positions: [] as number[], lines: [] as string[] };
  const open = { sessions: [] as number[], positions: [] as number[], lines: [] as string[] };
  const closed = { sessions: [] as number[], moves: [] as boolean[] };
  const ids = { sessions: [] as number[], ids: [] as Buffer[], positions: [] as number[] };
  for (const [index, share] of shares.entries()) {
    const n = index + 1;
    const { taken } = share;
    for (const row of taken.rows) add(rows, n, row);
    if (taken.open !== undefined) add(open, n, taken.open);
    if (taken.stored === "moves" || (taken.stored === "is contained" && taken.open === undefined)) {
      closed.sessions.push(n);
      closed.moves.push(taken.stored === "moves");
    }
    for (const { id, position: at } of share.ids) {
      ids.sessions.push(n);
      ids.ids.push(storedId(id));
      ids.positions.push(at);
    }
  }
  const [written] = await sql.rows(writtenSchema)`SELECT * FROM turnlog.append(
    ${shares.map(({ head }) => head.session)}, ${list(shares.map(({ base }) => base))},
    ${list(shares.map(({ epoch }) => epoch ?? "NULL"))}, ${list(shares.map(({ revision }) => revision))},
    ${list(shares.map(({ createdAt }) => createdAt))}, ${list(shares.map(({ updatedAt }) => updatedAt))},
    ${list(rows.sessions)}, ${list(rows.positions)}, ${linesOf(rows)},
    ${list(closed.sessions)}, ${list(closed.moves)},
    ${list(open.sessions)}, ${list(open.positions)}, ${linesOf(open)},
    ${list(ids.sessions)}, ${ids.ids}, ${list(ids.positions)}, ${batch})`;
  if (written === undefined) return { outcomes: [], batch };
  let first = written.first_position;
  const outcomes = shares.map(({ base, revision }, index) => {
    const number = written.numbers[index] ?? undefined;
    if (number === undefined) return undefined;
    const outcome = { number, first };
    first += revision - base;
    return outcome;
  });
  return { outcomes, batch: written.batch };
}

/** The text of an array. The driver would escape each number as if it were a text. */
function list(values: readonly (number | boolean | "NULL")[]): string {
  return `{${values.join(",")}}`;
}

/** No line contains a line break: JSON escapes it. */
function linesOf({ lines }: RowArrays): string {
  return lines.join("\n");
}

/** An id may hold any character, also the one that PostgreSQL's texts cannot: it is stored as JSON bytes. */
export function storedId(id: string): Buffer {
  return Buffer.from(JSON.stringify(id));
}

interface RowArrays {
  readonly sessions: number[];
  readonly positions: number[];
  readonly lines: string[];
}

function add({ sessions, positions, lines }: RowArrays, n: number, row: EventRow): void {
  sessions.push(n);
  positions.push(row.position);
  lines.push(row.row);
}
