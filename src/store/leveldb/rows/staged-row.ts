/**
 * The mark of a session that is written in several batches. While it exists, nothing of the session counts, and
 * nothing else is appended: everything behind the mark can be deleted again.
 */

import { damagedAt } from "../../log-rules/log-errors.ts";
import { z } from "zod";
import {
  checkedMarkRow,
  markSchema,
  storedMark,
  type ChainMark,
  withChecksum,
  checkedRow,
} from "./commit-record.ts";
import { rowAt, type Database, type WriteBatch } from "./database.ts";
import { commitKey, rangesOf, stagedKey, under } from "./keys.ts";

export interface StagedMark {
  readonly session: string;
  /** The end of the chain of commit records before the session. */
  readonly before: ChainMark;
  /** The stored mark `m/checked` at that time. */
  readonly checked: ChainMark;
}

const stagedSchema: z.ZodType<StagedMark> = z.object({
  session: z.string(),
  before: markSchema,
  checked: markSchema,
});

const PAGE = 1000;

export function stagedRow(mark: StagedMark): readonly [key: string, row: string] {
  const [before, checked] = [storedMark(mark.before), storedMark(mark.checked)];
  return [stagedKey, withChecksum(stagedKey, { session: mark.session, before, checked })];
}

/** @throws TurnlogError `LOG_DAMAGED` */
export async function readStaged(database: Database): Promise<StagedMark | undefined> {
  const row = await rowAt(database, stagedKey);
  if (row === undefined) return undefined;
  const mark = checkedRow(stagedKey, row, stagedSchema);
  if (mark === undefined)
    throw damagedAt("a session", 0, "the mark of an import that was not finished is altered");
  return mark;
}

/** Deletes what a process left that died while it wrote a session. Runs before anything is read. */
export async function dropStaged(database: Database): Promise<void> {
  const mark = await readStaged(database);
  if (mark === undefined) return;
  await eraseStaged(database, mark, async (change) => {
    const batch = database.batch();
    change(batch);
    await batch.write({ sync: true });
  });
}

/** Deletes everything behind the mark page by page, and the mark last. */
export async function eraseStaged(
  database: Database,
  { session, before, checked }: StagedMark,
  write: (change: (rows: Pick<WriteBatch, "put" | "del">) => void) => Promise<void>,
): Promise<void> {
  const records = { gte: commitKey(before.position + 1), lt: under("c/").lt };
  for (const range of [...rangesOf(session).map(under), records]) {
    for (;;) {
      const keys = await page(database, range);
      if (keys.length === 0) break;
      await write((rows) => {
        for (const key of keys) rows.del(key);
      });
    }
  }
  await write((rows) => {
    rows.put(...checkedMarkRow(checked));
    rows.del(stagedKey);
  });
}

async function page(
  database: Database,
  range: { readonly gte: string; readonly lt: string },
): Promise<readonly string[]> {
  const scan = database.keys({ ...range, limit: PAGE });
  try {
    return await scan.nextv(PAGE + 1);
  } finally {
    await scan.close();
  }
}

// Tracks where rows were replaced: LevelDB keeps the old ones until it merges its tables, which a
// small store may never do. The committer notes them; closing the store merges there.

export interface Span {
  readonly from: string;
  readonly to: string;
}

/** Less than this, or than this share of all that was written, is left to LevelDB. */
const WORTH_IT_BYTES = 32 * 1024;
const WORTH_IT_SHARE = 1 / 4;
/** The most sessions: LevelDB merges larger stores anyway. */
const MOST = 64;

interface Spare {
  from: string;
  to: string;
  bytes: number;
}

export class SpareRows {
  readonly #spans = new Map<string, Spare>();
  #written = 0;
  #spare = 0;

  wrote(bytes: number): void {
    this.#written += bytes;
  }

  /** Notes that rows between two keys are spare; `where` names their session. */
  note(where: string, { from, to }: Span, bytes: number): void {
    this.#spare += bytes;
    const known = this.#spans.get(where);
    if (known !== undefined) {
      known.to = to;
      known.bytes += bytes;
    } else if (this.#spans.size < MOST) this.#spans.set(where, { from, to, bytes });
  }

  /** The spans worth merging. Merging one may rewrite the whole store. */
  get spans(): readonly Span[] {
    if (this.#spare < WORTH_IT_SHARE * this.#written) return [];
    return [...this.#spans.values()].filter(({ bytes }) => bytes >= WORTH_IT_BYTES);
  }
}
