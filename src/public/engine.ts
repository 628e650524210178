/**
 * For those who write a store of rows by key under a log, or a whole engine. `docs/engines.md` shows how.
 *
 * @example
 * import { createRuntime, type Runtime } from "turnlog";
 * import { checkedLog, rowEngine, type RowStore } from "turnlog/engine";
 *
 * const runtimeOn = async (rows: RowStore): Promise<Runtime> =>
 *   createRuntime({ log: checkedLog(await rowEngine(rows)), agent });
 */

export {
  checkedLog,
  checkDeletion,
  checkForkPoint,
  copiedRows,
  decodeRow,
  deletedError,
  dueEvents,
  idsOf,
  OpenRow,
  RefusedWriters,
  repeatedAt,
  rowsToAppend,
  spanOf,
  type Engine,
  type EventRow,
  type KnownSession,
} from "../store/engine/index.ts";
export { rowEngine, type RowStore, type Scan, type WriteBatch } from "../store/row-engine/index.ts";
