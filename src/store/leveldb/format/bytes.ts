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
