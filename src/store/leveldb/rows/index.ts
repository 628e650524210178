/** The rows of the database: keys, forms and checksums. */

export { type StoredBlob, blobsIn } from "./stored-blobs.ts";
export { ChainMarks } from "./chain-marks.ts";
export {
  type ChainMark,
  CommitBuilder,
  type CommitRecord,
  type FinishedCommit,
  chainStart,
  markSchema,
  checkedMarkRow,
  storedMark,
  readCommit,
  sumOfChecksums,
} from "./commit-record.ts";
export { type PlacedRow, commitRows, placedRows } from "./commit-rows.ts";
export {
  BatchWriter,
  type Database,
  type KeyRange,
  type Moment,
  type Rows,
  type Scan,
  type ScanOptions,
  type Snapshot,
  type WriteBatch,
  allRows,
  firstOf,
  momentOf,
  rowAt,
  rowsAtOnce,
} from "./database.ts";
export {
  readOnlyError,
  commitDamage,
  erasureFailure,
  isLocked,
  readFailure,
  storeFailure,
  writeFailure,
} from "./failures.ts";
export {
  type IndexEntry,
  atLeast,
  indexRow,
  readIndex,
  isDeleted,
  readTombstone,
  tombstoneRow,
  listSessions,
} from "./session-rows.ts";
export {
  checkedKey,
  commitKey,
  cursorKey,
  erasureKey,
  eventKey,
  eventPrefix,
  fixedWidth,
  formatKey,
  idKey,
  numberOf,
  parseEventKey,
  rangesOf,
  sessionIn,
  sessionKey,
  snapshotKey,
  snapshotPrefix,
  stagedKey,
  tombstoneKey,
  under,
} from "./keys.ts";
export { withChecksum, checksumOf, checkedRow, rowContent } from "./row-checksum.ts";
export { SinceMark } from "./since-mark.ts";
export { type Span, SpareRows } from "./spare-rows.ts";
export { type StagedMark, dropStaged, eraseStaged, readStaged, stagedRow } from "./staged-row.ts";
