/**
 * Checks at opening what LevelDB's recovery may have dropped silently: the commits since the last mark that is
 * known to be in its tables. Records are enough: all rows of a batch are recovered, or none.
 */

import {
  chainStart,
  markSchema,
  readCommit,
  type ChainMark,
  checkedRow,
} from "../rows/commit-record.ts";
import { firstOf, rowAt, type RowStore, type Rows } from "../rows/row-store.ts";
import { commitDamage } from "../rows/failures.ts";
import { checkedKey, commitKey, numberOf, under } from "../rows/keys.ts";
import { SinceMark } from "../rows/session-rows.ts";
import { commits } from "./global-reader.ts";

export interface CheckedChain {
  readonly end: ChainMark;
  readonly checked: ChainMark;
  /** What was written behind that mark. */
  readonly since: SinceMark;
}

/**
 * Checks everything since `m/checked` and returns the end.
 * @param known - A mark that the log had certainly reached.
 * @param reached - The global position that it had certainly reached since then.
 * @throws TurnlogError `LOG_DAMAGED`
 */
export async function checkChain(
  database: RowStore,
  known: ChainMark,
  reached = 0,
): Promise<CheckedChain> {
  const end = await chainEnd(database);
  if (end.position < known.position) {
    throw commitDamage(
      end.position + 1,
      `it ends at global position ${end.position}, but it had reached ${known.position} when it was last closed`,
    );
  }
  if (end.position < reached) {
    throw commitDamage(
      end.position + 1,
      `it ends at global position ${end.position}, but it had acknowledged ${reached}. The last ${reached - end.position} events are gone`,
    );
  }
  const checked = await lastChecked(database);
  // After an orderly close both equal the end, whose record has just been read.
  for (const mark of [known, checked]) {
    if (!isSame(mark, end)) await assertMark(database, mark);
  }
  const since = new SinceMark(checked.position);
  if (isSame(checked, end)) return { end, checked, since };
  for await (const record of commits(database, Math.max(checked.position, 1), end.position))
    since.add(record);
  return { end, checked, since };
}

/** The end of the last commit record, or the start of the chain. */
export async function chainEnd(database: Rows): Promise<ChainMark> {
  const last = await firstOf(database, { ...under("c/"), reverse: true });
  if (last === undefined) return chainStart;
  const position = numberOf(last[0]);
  const record = readCommit(position, last[1]);
  if (record === undefined)
    throw commitDamage(position, `the commit record at global position ${position} is altered`);
  return { position: position + record.count - 1, checksum: record.checksum };
}

export async function lastChecked(database: RowStore): Promise<ChainMark> {
  const row = await rowAt(database, checkedKey);
  return (row === undefined ? undefined : checkedRow(checkedKey, row, markSchema)) ?? chainStart;
}

function isSame(one: ChainMark, other: ChainMark): boolean {
  return one.position === other.position && one.checksum === other.checksum;
}

/** Throws unless a commit record ends at the mark, with its checksum. */
async function assertMark(database: RowStore, { position, checksum }: ChainMark): Promise<void> {
  if (position === 0) return;
  const found = await firstOf(database, {
    gte: commitKey(0),
    lte: commitKey(position),
    reverse: true,
  });
  const record = found === undefined ? undefined : readCommit(numberOf(found[0]), found[1]);
  if (
    record === undefined ||
    record.position + record.count - 1 !== position ||
    record.checksum !== checksum
  ) {
    throw commitDamage(
      position,
      `the commit record at global position ${position} is missing or another one`,
    );
  }
}
