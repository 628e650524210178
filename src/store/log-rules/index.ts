/** What every log demands of its calls, and the errors if they do not comply, in any store. */

export {
  checkForkPoint,
  checkRevision,
  forkPoint,
  hasIds,
  idConflict,
  nothingToAppend,
  refusedBefore,
} from "./append-rules.ts";
export {
  appendSchema,
  deleteSchema,
  followSchema,
  listSchema,
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
