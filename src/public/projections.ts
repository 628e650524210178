/** The entry `turnlog/projections`: what a log means. Pure folds, no I/O. */

export {
  type HistoryState,
  type Projection,
  approvals,
  contextView,
  defineProjection,
  history,
  promptMessages,
  queue,
  spending,
  toolCalls,
  usage,
} from "../projections/index.ts";
