/** The files of a store: their names, checks, locks and guard copies. */

export { checkFiles } from "./file-check.ts";
export { formatDamage, readFormat, writeFormat } from "./format-row.ts";
export type { JsonDraft } from "./json-file.ts";
export { type LevelDb, flush, levelAt } from "./level.ts";
export { type LogFile, bytesOf, filesOf, linkFolder, liveFiles } from "./log-folder.ts";
export {
  guardLog,
  inheritedGuard,
  putRepaired,
  finishInterrupted,
  restoreBeforeOpen,
} from "./open-guard.ts";
export { type OwnOptions, type Ownership, ownStore } from "./own-store.ts";
export { type Durability, draftOwner, removeOwner } from "./owner.ts";
export {
  FORMAT,
  type StoreFile,
  newStore,
  readStoreFile,
  storeReached,
  writeStoreFile,
} from "./store-file.ts";
export {
  assertFinished,
  assertIsStore,
  assertExists,
  foreign,
  hasEvents,
  needsNewLog,
  logMissing,
} from "./store-files.ts";
export { type StorePaths, namesIn, storePaths } from "./store-paths.ts";
export { type TableSums, sumTables } from "./table-sums.ts";
export { beginLog, finishLog, isUnfinished } from "./young-log.ts";
