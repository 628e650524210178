/**
 * LevelDB's manifest: a log of edits that together list the tables. Other table files were being
 * written when the process died, or are about to be deleted.
 */

import { Cursor } from "./bytes.ts";
import { contentsOf } from "./log-file.ts";

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

export interface Manifest {
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

export function readManifest(file: Uint8Array): Manifest {
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
