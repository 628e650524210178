/** Rows and damage in LevelDB's files. */

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
