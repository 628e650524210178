/** The parts of an open log, each made with the others that it uses. */

import { createCodec, type Codec } from "../../events/index.ts";
import type { LiveTail } from "../following/live-tail.ts";
import { Heads } from "./heads/heads.ts";
import { IndexRows } from "./heads/index-rows.ts";
import { Lineage } from "./heads/lineage.ts";
import { Following } from "./read/following.ts";
import { readGlobal } from "./read/global-reader.ts";
import { Reading } from "./read/reading.ts";
import { ScannedDatabase } from "./read/scans.ts";
import { SnapshotReader } from "./read/snapshots.ts";
import type { ChainMark } from "./rows/commit-record.ts";
import type { Database } from "./rows/database.ts";
import { Deletion } from "./upkeep/deletion.ts";
import { Erasure, type Eraser } from "./upkeep/erasure.ts";
import { Appender } from "./write/appender.ts";
import { Committer } from "./write/committer.ts";

export interface LogPartsOptions {
  readonly sync: boolean;
  readonly end: ChainMark;
  readonly checked: ChainMark;
  /** Removes deleted rows from the files. Left out where rows in memory leave nothing behind. */
  readonly eraser?: Eraser;
  /** Throws when another process owns the store, or its folder is gone. Left out where that cannot happen. */
  readonly assertOwned?: () => void;
  /** Called with the end of the log after each synced write, before its appends resolve. */
  readonly onSynced?: (position: number) => void;
}

export interface LogParts {
  readonly database: ScannedDatabase;
  readonly codec: Codec;
  readonly index: IndexRows;
  readonly heads: Heads;
  readonly lineage: Lineage;
  readonly committer: Committer;
  readonly appender: Appender;
  readonly erasure: Erasure;
  readonly deletion: Deletion;
  readonly reading: Reading;
  readonly following: Following;
  readonly snapshots: SnapshotReader;
}

export function logParts(
  given: Database,
  { sync, end, checked, eraser, assertOwned = () => {}, onSynced }: LogPartsOptions,
  assertOpen: () => void,
): LogParts {
  const database = new ScannedDatabase(given);
  const codec = createCodec();
  const index = new IndexRows();
  const tails = new Map<string, LiveTail>();
  const heads = new Heads(database, tails, index);
  const lineage = new Lineage(database, heads);
  const source = { database, codec, lineage };
  const reading = new Reading({ source, heads, assertOpen });
  const following = new Following({
    codec,
    heads,
    tails,
    read: (name, from, to) => reading.span(name, from, to),
    readAll: (from, to) => readGlobal(database, codec, from, to),
    written: () => committer.written.position,
  });
  const committer = new Committer(database, {
    sync,
    end,
    checked,
    index,
    assertOwned,
    onSynced,
    onWritten: () => {
      following.notify();
    },
    // After a failed write only the store knows what was written.
    onFailed: () => {
      heads.clear();
      following.forget();
    },
  });
  const appender = new Appender({ database, codec, heads, lineage, committer });
  const erasure = new Erasure({ database, committer, eraser });
  return {
    database,
    codec,
    index,
    heads,
    lineage,
    committer,
    appender,
    erasure,
    reading,
    following,
    deletion: new Deletion({ source, heads, committer, appender, erasure }),
    snapshots: new SnapshotReader(database),
  };
}
