/** Unpacks Snappy, with which LevelDB compresses the blocks of its tables. */

import { Cursor } from "./bytes.ts";

/** Three bytes unpack to 64 at most. */
const MOST = 22;

/** Of damaged bytes as much as they make; nothing if they claim to be longer than they can be. */
export function unpackSnappy(packed: Uint8Array): Uint8Array {
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
