/**
 * For those who write an engine: a store of events under a log. `docs/engines.md` shows how.
 *
 * @example
 * import { createRuntime, type Runtime } from "turnlog";
 * import { checkedLog, type Engine } from "turnlog/engine";
 *
 * const runtimeOn = (engine: Engine): Promise<Runtime> =>
 *   createRuntime({ log: checkedLog(engine), agent });
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
  inSession,
  missingEvent,
  OpenRow,
  RefusedWriters,
  repeatedAt,
  rowsToAppend,
  snapshotIn,
  snapshotRow,
  spanOf,
  type Engine,
  type EventRow,
  type KnownSession,
} from "../store/engine/index.ts";
