/**
 * LevelDB's log files, including its manifest: blocks of 32 KB with records of CRC (4 bytes),
 * length (2), kind (1) and content. A batch that does not fit into a block is split.
 */

import {
  fixed32,
  fixed56,
  Cursor,
  textOf,
  type FileDamage,
  type FileRow,
  maskedCrc32c,
} from "./bytes.ts";

const BLOCK = 32 * 1024;
const HEADER = 7;
const BATCH_HEADER = 12;

const kinds = { whole: 1, first: 2, middle: 3, last: 4 } as const;

interface PhysicalRecord {
  readonly kind: number;
  readonly content: Uint8Array;
  /** The offset of damage before this record or in it, if there is any. */
  readonly bad: number | undefined;
  /** Whether bytes before it belong to no record. */
  readonly isBehindGap: boolean;
  /** Its own checksum does not hold. */
  readonly isDoubtful: boolean;
}

/** The first damage that a good batch follows. Damage at the end is what a crash leaves. */
export function damageInLog(file: Uint8Array): FileDamage | undefined {
  let bad: number | undefined;
  for (const record of recordsOf(file)) {
    bad ??= record.bad;
    if (record.isDoubtful) continue;
    // Later pieces may belong to a batch that was being written during the crash.
    const begins = record.kind === kinds.whole || record.kind === kinds.first;
    if (bad !== undefined && begins) return { offset: bad };
  }
  return undefined;
}

/** Also what can be read of damaged records, as doubtful rows. */
export function* rowsOfLog(file: Uint8Array): Generator<FileRow> {
  for (const { content, isDoubtful } of batchesOf(file))
    for (const row of rowsOfBatch(content)) yield { ...row, isDoubtful };
}

/** The contents of complete records, joined from their pieces. */
export function* contentsOf(file: Uint8Array): Generator<Uint8Array> {
  for (const { content, isDoubtful } of batchesOf(file)) if (!isDoubtful) yield content;
}

interface Joined {
  readonly content: Uint8Array;
  readonly isDoubtful: boolean;
}

function* batchesOf(file: Uint8Array): Generator<Joined> {
  let pieces: PhysicalRecord[] | undefined;
  for (const record of recordsOf(file)) {
    const { kind, isBehindGap } = record;
    if (kind === kinds.whole || kind === kinds.first) pieces = [record];
    else if (isBehindGap) pieces = undefined;
    else pieces?.push(record);
    if ((kind !== kinds.whole && kind !== kinds.last) || pieces === undefined) continue;
    yield {
      content: Buffer.concat(pieces.map(({ content }) => content)),
      isDoubtful: pieces.some((piece) => piece.isDoubtful),
    };
    pieces = undefined;
  }
}

function* recordsOf(file: Uint8Array): Generator<PhysicalRecord> {
  let bad: number | undefined;
  let isBehindGap = false;
  for (let block = 0; block < file.length; block += BLOCK) {
    const end = Math.min(block + BLOCK, file.length);
    let at = block;
    while (at + HEADER <= end) {
      const good = goodLength(file, at, end);
      const length = good ?? likelyLength(file, at, end);
      if (good === undefined) bad ??= at;
      if (length === undefined) {
        // The length is not reliable: the next good record may begin anywhere.
        isBehindGap = true;
        at++;
        continue;
      }
      yield {
        kind: file[at + 6] ?? 0,
        content: file.subarray(at + HEADER, at + HEADER + length),
        bad,
        isBehindGap,
        isDoubtful: good === undefined,
      };
      if (good !== undefined) bad = undefined;
      isBehindGap = false;
      at += HEADER + length;
    }
  }
}

/** The length of the content of a good record; undefined if it is damaged. */
function goodLength(file: Uint8Array, at: number, end: number): number | undefined {
  const length = claimedLength(file, at, end);
  if (length === undefined) return undefined;
  const to = at + HEADER + length;
  return fixed32(file, at) === maskedCrc32c(file, at + HEADER - 1, to) ? length : undefined;
}

/** The length of a damaged record, if a good one or the end of the block follows there. */
function likelyLength(file: Uint8Array, at: number, end: number): number | undefined {
  const length = claimedLength(file, at, end);
  if (length === undefined) return undefined;
  const next = at + HEADER + length;
  return next + HEADER > end || goodLength(file, next, end) !== undefined ? length : undefined;
}

function claimedLength(file: Uint8Array, at: number, end: number): number | undefined {
  const kind = file[at + 6] ?? 0;
  const length = (file[at + 4] ?? 0) | ((file[at + 5] ?? 0) << 8);
  return kind === 0 || kind > kinds.last || at + HEADER + length > end ? undefined : length;
}

/** A batch: the sequence number of its first row (8 bytes), their count (4), then the rows. */
function* rowsOfBatch(batch: Uint8Array): Generator<FileRow> {
  let sequence = fixed56(batch, 0);
  const cursor = new Cursor(batch, BATCH_HEADER);
  while (!cursor.atEnd) {
    const [kind] = cursor.take(1);
    const key = textOf(cursor.take(cursor.varint()));
    const value = kind === 1 ? textOf(cursor.take(cursor.varint())) : undefined;
    yield { key, sequence: sequence++, value };
  }
}
