/** CRC-32C (Castagnoli), the checksum of LevelDB's records and blocks. Node has only CRC-32. */

const POLYNOMIAL = 0x82f63b78;
const MASK_DELTA = 0xa282ead8;

/** Eight tables, to process eight bytes at once: three times as fast as byte by byte. */
const tables: Int32Array = makeTables();

function makeTables(): Int32Array {
  const made = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) {
      value = (value & 1) === 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    }
    made[byte] = value;
  }
  for (let index = 256; index < made.length; index++) {
    const before = made[index - 256] ?? 0;
    made[index] = (before >>> 8) ^ (made[before & 0xff] ?? 0);
  }
  return made;
}

/** Continues a CRC over a range of bytes. Begins with -1, ends with `~`. */
export function extendCrc32c(crc: number, bytes: Uint8Array, from: number, to: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + from, to - from);
  const eights = view.byteLength - 7;
  let value = crc;
  let at = 0;
  for (; at < eights; at += 8) {
    const low = value ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    value =
      (tables[1792 + (low & 0xff)] ?? 0) ^
      (tables[1536 + ((low >>> 8) & 0xff)] ?? 0) ^
      (tables[1280 + ((low >>> 16) & 0xff)] ?? 0) ^
      (tables[1024 + (low >>> 24)] ?? 0) ^
      (tables[768 + (high & 0xff)] ?? 0) ^
      (tables[512 + ((high >>> 8) & 0xff)] ?? 0) ^
      (tables[256 + ((high >>> 16) & 0xff)] ?? 0) ^
      (tables[high >>> 24] ?? 0);
  }
  for (; at < view.byteLength; at++) {
    value = (value >>> 8) ^ (tables[(value ^ view.getUint8(at)) & 0xff] ?? 0);
  }
  return value;
}

/** LevelDB's stored form of a CRC, rotated and shifted, since a CRC over data with CRCs is weak. */
export function maskCrc32c(crc: number): number {
  const value = ~crc >>> 0;
  return (((value >>> 15) | (value << 17)) + MASK_DELTA) >>> 0;
}

export function maskedCrc32c(bytes: Uint8Array, from: number, to: number): number {
  return maskCrc32c(extendCrc32c(-1, bytes, from, to));
}
