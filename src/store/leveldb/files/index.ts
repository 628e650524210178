/** The files of a store: their names, checks, locks and guard copies. */

export { checkFiles, missingLog, sumTables } from "./file-check.ts";
export {
  formatDamage,
  readFormat,
  writeFormat,
  type Format,
  FORMAT,
  type StoreFile,
  newStore,
  readStoreFile,
  storeReached,
  writeStoreFile,
} from "./store-file.ts";
export {
  type Reached,
  createReached,
  lastKnown,
  ReachedFile,
  readReached,
} from "./reached-file.ts";
export { FolderWatch } from "./folder-watch.ts";
export type { JsonDraft } from "./json-file.ts";
export { type LevelDb, flush, levelAt } from "./level.ts";
export {
  type LogFile,
  bytesOf,
  filesOf,
  linkFolder,
  liveFiles,
  numberOfFile,
} from "./log-folder.ts";
export {
  guardLog,
  inheritedGuard,
  putRepaired,
  finishInterrupted,
  restoreBeforeOpen,
} from "./open-guard.ts";
export {
  connectToStore,
  type OwnOptions,
  type Ownership,
  ownStore,
  reachOwner,
} from "./own-store.ts";
export type { StoreService } from "../ownership/index.ts";
export { type Durability, draftOwner, removeOwner } from "./owner.ts";
export {
  assertFinished,
  assertIsStore,
  assertExists,
  foreign,
  hasEvents,
  needsNewLog,
  logMissing,
  beginLog,
  finishLog,
  isUnfinished,
} from "./store-files.ts";
export { type StorePaths, namesIn, storePaths } from "./store-paths.ts";
