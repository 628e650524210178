/** What every log demands of its calls, and the errors if they do not comply, in any store. */

export { AppendLine } from "./append-line.ts";
export {
  checkForkPoint,
  checkRevision,
  forkPoint,
  hasIds,
  idConflict,
  nothingToAppend,
} from "./append-rules.ts";
export {
  appendSchema,
  cursorPositionSchema,
  deleteSchema,
  followSchema,
  listSchema,
  ownedAppendSchema,
  readAllSchema,
  readSchema,
} from "./call-schemas.ts";
export {
  assertPositions,
  closedError,
  damagedAt,
  deletedError,
  hasForks,
  notFound,
  sharedDamage,
} from "./log-errors.ts";
export { RefusedWriters } from "./refused-writers.ts";
