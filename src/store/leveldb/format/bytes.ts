/** Reads numbers as LevelDB writes them. Reads behind the end return zeros: callers check lengths. */

export function fixed32(bytes: Uint8Array, at: number): number {
  const [one = 0, two = 0, three = 0, four = 0] = [
    bytes[at],
    bytes[at + 1],
    bytes[at + 2],
    bytes[at + 3],
  ];
  return (one | (two << 8) | (three << 16) | (four << 24)) >>> 0;
}

/** Seven bytes hold every sequence number, exact in a double up to 2⁵³. */
export function fixed56(bytes: Uint8Array, at: number): number {
  return fixed32(bytes, at) + (fixed32(bytes, at + 4) & 0xffffff) * 2 ** 32;
}

export class Cursor {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, at = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get atEnd(): boolean {
    return this.at >= this.end;
  }

  /** Seven bits a byte, lowest first. */
  varint(): number {
    let value = 0;
    for (let scale = 1; this.at < this.end; scale *= 128) {
      const byte = this.bytes[this.at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 128) break;
    }
    return value;
  }

  take(length: number): Uint8Array {
    const from = this.at;
    this.at = Math.min(this.end, from + length);
    return this.bytes.subarray(from, this.at);
  }
}

// Rows and damage in LevelDB's files.

export interface FileRow {
  readonly key: string;
  /** LevelDB numbers its writes: the highest number of a key counts. */
  readonly sequence: number;
  /** Undefined if the row deletes the key. */
  readonly value: string | undefined;
  /** It is from a damaged block: only its own checksum can tell whether it is what was written. */
  readonly isDoubtful?: boolean;
}

export interface FileDamage {
  readonly offset: number;
  /** The last good key before the damage, in a table. */
  readonly after?: string;
}

const decoder = new TextDecoder();

export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

// CRC-32C (Castagnoli), the checksum of LevelDB's records and blocks. Node has only CRC-32.

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
