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
  checkForkPoint,
  checkRevision,
  copiedRows,
  decodeRow,
  deletedError,
  dueEvents,
  hasForks,
  idOf,
  idsOf,
  inSession,
  missingEvent,
  notFound,
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
  type Others,
  type SessionHead,
  type Snapshots,
} from "../store/engine/index.ts";
