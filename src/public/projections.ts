/**
 * The entry `turnlog/projections`: pure folds from a session's events to the state that they describe. No I/O.
 */

export {
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
