/** The port of a store of events, the log on any engine that implements it, and the rules that engines ask. */

export { decodeRow, OpenRow, type EventRow } from "../event-rows/index.ts";
export { RefusedWriters } from "../log-rules/append-queue.ts";
export {
  checkDeletion,
  checkForkPoint,
  idsOf,
  repeatedAt,
  rowsToAppend,
  type KnownSession,
} from "../log-rules/append-rules.ts";
export { copiedRows, dueEvents, spanOf } from "../log-rules/reading-rules.ts";
export { deletedError } from "../log-rules/log-errors.ts";
export { CheckedLog, checkedLog } from "./checked-log.ts";
export type { Engine } from "./engine.ts";
export { Following } from "./following.ts";
