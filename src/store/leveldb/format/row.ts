/** What LevelDB's files hold, and where they do not. */

/** A row with its version. */
export interface FileRow {
  readonly key: string;
  /** LevelDB numbers all its writes: of two rows under one key the later one counts. */
  readonly sequence: number;
  /** Undefined where the row deletes the key. */
  readonly value: string | undefined;
}

/** A place in a file where it is not what LevelDB wrote. */
export interface FileDamage {
  /** In bytes, from the beginning of the file. */
  readonly offset: number;
  /** The last good key before it, where rows are concerned. */
  readonly after?: string;
}

const decoder = new TextDecoder();

export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
