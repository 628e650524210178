/** The files of LevelDB's folder that belong to the database, and a linked copy of them. */

import {
  closeSync,
  copyFileSync,
  fstatSync,
  linkSync,
  openSync,
  read,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { makePrivateFolder } from "../../folder/index.ts";
import { hasCode } from "../../../events/index.ts";
import { namesIn } from "./store-files.ts";
import { Cursor } from "../format/bytes.ts";
import { contentsOf } from "../format/log-file.ts";

export interface LogFile {
  readonly path: string;
  readonly size: number;
}

export interface LiveFiles {
  readonly tables: readonly LogFile[];
  readonly logs: readonly LogFile[];
  /** The number of the log file that the manifest names; 0 if LevelDB has not made one yet. */
  readonly firstLog: number;
}

export function filesOf(folder: string, ending: ".ldb" | ".log"): readonly LogFile[] {
  const names = namesIn(folder)
    .filter((name) => name.endsWith(ending))
    .toSorted();
  return names.toReversed().map((name) => {
    const path = join(folder, name);
    return { path, size: statSync(path).size };
  });
}

/** A view as a plain array: `subarray` of a `Buffer` costs several times as much. */
function plain({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

const readInto = promisify(read);

/** A whole file at once: `readFile` uses the thread pool for each half megabyte. */
export async function bytesOf(path: string): Promise<Uint8Array> {
  const file = openSync(path, "r");
  try {
    const bytes = new Uint8Array(fstatSync(file).size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await readInto(file, bytes, length, bytes.length - length, length);
      // The file has been truncated in the meantime.
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return length === bytes.length ? bytes : bytes.slice(0, length);
  } finally {
    closeSync(file);
  }
}

/** The files in the manifest. A kill may have left others, or they are about to be deleted. */
export function liveFiles(folder: string): LiveFiles {
  const current = readFileSync(join(folder, "CURRENT"), "utf8").trim();
  const { tables, firstLog, previousLog } = readManifest(
    plain(readFileSync(join(folder, current))),
  );
  const isLive = (number: number): boolean => number >= firstLog || number === previousLog;
  return {
    tables: filesOf(folder, ".ldb").filter(({ path }) => tables.has(numberOfFile(path))),
    logs: filesOf(folder, ".log").filter(({ path }) => isLive(numberOfFile(path))),
    firstLog,
  };
}

export function numberOfFile(path: string): number {
  return Number.parseInt(basename(path), 10);
}

/**
 * Live files are linked, since LevelDB never writes to them again; it may overwrite others, so they are copied.
 * Synchronous: some microseconds a file, against a hundred for the thread pool.
 */
export function linkFolder(from: string, to: string, { tables, logs }: LiveFiles): void {
  copyFolder(from, to, new Set([...tables, ...logs].map(({ path }) => basename(path))));
}

function copyFolder(from: string, to: string, linked: ReadonlySet<string>): void {
  rmSync(to, { recursive: true, force: true });
  makePrivateFolder(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) copyFolder(source, target, new Set());
    else if (linked.has(entry.name)) linkFile(source, target);
    else if (entry.isFile()) copyFileSync(source, target);
  }
}

function linkFile(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    // The file system has no hard links.
    if (!hasCode(error, "EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS", "EXDEV")) throw error;
    copyFileSync(source, target);
  }
}

// LevelDB's manifest: a log of edits that together list the tables. Other table files were being
// written when the process died, or are about to be deleted.

const tags = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const;

interface Manifest {
  readonly tables: ReadonlySet<number>;
  /** Log files from this number on, and `previousLog`, contain rows that are not in tables. */
  readonly firstLog: number;
  readonly previousLog: number;
}

interface Draft {
  readonly tables: Set<number>;
  firstLog: number;
  previousLog: number;
}

function readManifest(file: Uint8Array): Manifest {
  const draft: Draft = { tables: new Set(), firstLog: 0, previousLog: 0 };
  for (const edit of contentsOf(file)) apply(edit, draft);
  return draft;
}

function apply(edit: Uint8Array, draft: Draft): void {
  const cursor = new Cursor(edit);
  while (!cursor.atEnd) {
    switch (cursor.varint()) {
      case tags.comparator:
        skipString(cursor);
        break;
      case tags.logNumber:
        draft.firstLog = cursor.varint();
        break;
      case tags.previousLogNumber:
        draft.previousLog = cursor.varint();
        break;
      case tags.nextFileNumber:
      case tags.lastSequence:
        cursor.varint();
        break;
      case tags.compactPointer:
        cursor.varint();
        skipString(cursor);
        break;
      case tags.deletedFile:
        cursor.varint();
        draft.tables.delete(cursor.varint());
        break;
      case tags.newFile:
        cursor.varint();
        draft.tables.add(cursor.varint());
        cursor.varint();
        skipString(cursor);
        skipString(cursor);
        break;
      default:
        // LevelDB refuses this manifest itself.
        return;
    }
  }
}

function skipString(cursor: Cursor): void {
  cursor.take(cursor.varint());
}
