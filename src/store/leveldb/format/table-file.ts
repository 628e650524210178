/**
 * LevelDB's tables: blocks of rows, filters, an index and a footer; behind each block a kind (1 byte) and a CRC
 * (4 bytes), which LevelDB does not check.
 */

import {
  Cursor,
  fixed32,
  fixed56,
  textOf,
  type FileDamage,
  type FileRow,
  extendCrc32c,
  maskCrc32c,
  maskedCrc32c,
} from "./bytes.ts";

const FOOTER = 48;
const TRAILER = 5;
const MAGIC_LOW = 0x8b80fb57;
const MAGIC_HIGH = 0xdb477524;
const INTERNAL_KEY_TAIL = 8;

interface Handle {
  readonly offset: number;
  readonly size: number;
}

interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** The first damage of a table; undefined if every block is good. */
export function damageInTable(file: Uint8Array): FileDamage | undefined {
  const footer = footerOf(file);
  if (footer === undefined) return { offset: Math.max(0, file.length - FOOTER) };
  for (const block of [footer.index, footer.meta]) {
    if (!isGood(file, block)) return { offset: block.offset };
  }
  let before: Handle | undefined;
  for (const { value } of entriesOf(file, footer.index)) {
    const block = handleOf(new Cursor(value));
    if (!isGood(file, block)) return { offset: block.offset, ...lastKeyIn(file, before) };
    before = block;
  }
  for (const { value } of entriesOf(file, footer.meta)) {
    const block = handleOf(new Cursor(value));
    if (!isGood(file, block)) return { offset: block.offset };
  }
  return undefined;
}

function lastKeyIn(file: Uint8Array, block: Handle | undefined): { readonly after?: string } {
  if (block === undefined) return {};
  const key = [...entriesOf(file, block)].at(-1)?.key;
  return key === undefined ? {} : { after: textOf(key.subarray(0, -INTERNAL_KEY_TAIL)) };
}

/** Also what can be read of damaged blocks, as doubtful rows. */
export function* rowsOfTable(file: Uint8Array): Generator<FileRow> {
  for (const block of dataBlocks(file)) {
    const isDoubtful = !isGood(file, block);
    for (const { key, value } of entriesOf(file, block)) {
      const tail = key.length - INTERNAL_KEY_TAIL;
      if (tail < 0) continue;
      const isValue = key[tail] === 1;
      yield {
        key: textOf(key.subarray(0, tail)),
        sequence: fixed56(key, tail + 1),
        value: isValue ? textOf(value) : undefined,
        isDoubtful,
      };
    }
  }
}

/** Finds blocks by the index; if that is damaged, one after the other while they are good. */
function* dataBlocks(file: Uint8Array): Generator<Handle> {
  const index = footerOf(file)?.index;
  if (index !== undefined && isGood(file, index)) {
    for (const { value } of entriesOf(file, index)) yield handleOf(new Cursor(value));
    return;
  }
  let offset = 0;
  for (;;) {
    const size = sizeOfBlockAt(file, offset);
    if (size === undefined) return;
    yield { offset, size };
    offset += size + TRAILER;
  }
}

/** A block ends where the CRC of all bytes before it follows. */
function sizeOfBlockAt(file: Uint8Array, offset: number): number | undefined {
  let crc = -1;
  for (let at = offset; at + TRAILER <= file.length; at++) {
    crc = extendCrc32c(crc, file, at, at + 1);
    if (at > offset && fixed32(file, at + 1) === maskCrc32c(crc)) return at - offset;
  }
  return undefined;
}

function footerOf(file: Uint8Array): { readonly meta: Handle; readonly index: Handle } | undefined {
  const at = file.length - FOOTER;
  if (at < 0 || fixed32(file, at + 40) !== MAGIC_LOW || fixed32(file, at + 44) !== MAGIC_HIGH)
    return undefined;
  const cursor = new Cursor(file, at);
  return { meta: handleOf(cursor), index: handleOf(cursor) };
}

function handleOf(cursor: Cursor): Handle {
  return { offset: cursor.varint(), size: cursor.varint() };
}

function isGood(file: Uint8Array, { offset, size }: Handle): boolean {
  const end = offset + size;
  if (end + TRAILER > file.length) return false;
  return fixed32(file, end + 1) === maskedCrc32c(file, offset, end + 1);
}

/**
 * In a damaged block, whose lengths may be anything, reading continues at the next entry that has its whole key.
 */
function* entriesOf(file: Uint8Array, { offset, size }: Handle): Generator<Entry> {
  const stored = file.subarray(offset, offset + size);
  const block = file[offset + size] === 1 ? unpackSnappy(stored) : stored;
  const restarts = block.length - 4 - 4 * fixed32(block, block.length - 4);
  const cursor = new Cursor(block, 0, Math.max(0, restarts));
  let key = new Uint8Array(0);
  while (!cursor.atEnd) {
    const from = cursor.at;
    const shared = cursor.varint();
    const rest = cursor.varint();
    const length = cursor.varint();
    if (shared > key.length || rest + length > cursor.end - cursor.at) {
      cursor.at = nextWholeKey(block, restarts, from) ?? cursor.end;
      key = new Uint8Array(0);
      continue;
    }
    const next = new Uint8Array(shared + rest);
    next.set(key.subarray(0, shared));
    next.set(cursor.take(rest), shared);
    key = next;
    yield { key, value: cursor.take(length) };
  }
}

/** The first place behind another one at which LevelDB wrote an entry that shares nothing with the one before it. */
function nextWholeKey(block: Uint8Array, restarts: number, behind: number): number | undefined {
  for (let at = restarts; at < block.length - 4; at += 4) {
    const place = fixed32(block, at);
    if (place > behind) return place;
  }
  return undefined;
}

// Unpacks Snappy, with which LevelDB compresses the blocks of its tables.

/** Three bytes unpack to 64 at most. */
const MOST = 22;

/** Of damaged bytes as much as they make; nothing if they claim to be longer than they can be. */
function unpackSnappy(packed: Uint8Array): Uint8Array {
  const cursor = new Cursor(packed);
  const claimed = cursor.varint();
  const unpacked = new Uint8Array(claimed > packed.length * MOST ? 0 : claimed);
  let length = 0;
  while (!cursor.atEnd && length < unpacked.length) {
    const tag = cursor.take(1)[0] ?? 0;
    if ((tag & 3) === 0) {
      const literal = cursor.take(literalLength(cursor, tag >> 2));
      unpacked.set(literal.subarray(0, unpacked.length - length), length);
      length += literal.length;
    } else {
      const { size, distance } = copyOf(cursor, tag);
      // Byte by byte: a copy may overlap its own output.
      for (let count = 0; count < size; count++, length++)
        unpacked[length] = unpacked[length - distance] ?? 0;
    }
  }
  return unpacked;
}

function literalLength(cursor: Cursor, code: number): number {
  return 1 + (code < 60 ? code : littleEndian(cursor.take(code - 59)));
}

function copyOf(cursor: Cursor, tag: number): { readonly size: number; readonly distance: number } {
  switch (tag & 3) {
    case 1:
      return { size: 4 + ((tag >> 2) & 7), distance: ((tag >> 5) << 8) | (cursor.take(1)[0] ?? 0) };
    case 2:
      return { size: 1 + (tag >> 2), distance: littleEndian(cursor.take(2)) };
    default:
      return { size: 1 + (tag >> 2), distance: littleEndian(cursor.take(4)) };
  }
}

function littleEndian(bytes: Uint8Array): number {
  return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
}
