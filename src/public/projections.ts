/** The entry `turnlog/projections`: what a log means. Pure folds, no I/O. */

export {
  type HistoryState,
  type Projection,
  type StepTimeline,
  approvals,
  contextView,
  defineProjection,
  history,
  promptMessages,
  queue,
  spending,
  stepTimelines,
  toolCalls,
  usage,
} from "../projections/index.ts";
