/**
 * LevelDB's tables: blocks of rows, filters, an index and a footer; behind each block a kind (1 byte) and a CRC
 * (4 bytes), which LevelDB does not check.
 */

import { Cursor, fixed32, fixed56 } from "./bytes.ts";
import { extendCrc32c, maskCrc32c, maskedCrc32c } from "./crc32c.ts";
import { textOf, type FileDamage, type FileRow } from "./row.ts";
import { unpackSnappy } from "./snappy.ts";

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

export function* rowsOfTable(file: Uint8Array): Generator<FileRow> {
  for (const block of dataBlocks(file)) {
    for (const { key, value } of entriesOf(file, block)) {
      const tail = key.length - INTERNAL_KEY_TAIL;
      if (tail < 0) continue;
      const isValue = key[tail] === 1;
      yield {
        key: textOf(key.subarray(0, tail)),
        sequence: fixed56(key, tail + 1),
        value: isValue ? textOf(value) : undefined,
      };
    }
  }
}

/** Finds blocks by the index; if that is damaged, one after the other while they are good. */
function* dataBlocks(file: Uint8Array): Generator<Handle> {
  const index = footerOf(file)?.index;
  if (index !== undefined && isGood(file, index)) {
    for (const { value } of entriesOf(file, index)) {
      const block = handleOf(new Cursor(value));
      if (isGood(file, block)) yield block;
    }
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

function* entriesOf(file: Uint8Array, { offset, size }: Handle): Generator<Entry> {
  const stored = file.subarray(offset, offset + size);
  const block = file[offset + size] === 1 ? unpackSnappy(stored) : stored;
  const restarts = fixed32(block, block.length - 4);
  const cursor = new Cursor(block, 0, block.length - 4 - 4 * restarts);
  let key = new Uint8Array(0);
  while (!cursor.atEnd) {
    const shared = cursor.varint();
    const rest = cursor.varint();
    const length = cursor.varint();
    const next = new Uint8Array(shared + rest);
    next.set(key.subarray(0, shared));
    next.set(cursor.take(rest), shared);
    key = next;
    yield { key, value: cursor.take(length) };
  }
}
