/** The entry `turnlog/projections`: what a log means. Pure folds, no I/O. */

export {
  type HistoryState,
  type Projection,
  type StepTimeline,
  type UsageState,
  approvals,
  contextView,
  defineProjection,
  history,
  promptDiff,
  promptMessages,
  queue,
  sessionSummary,
  spending,
  stepTimelines,
  toolCalls,
  usage,
} from "../projections/index.ts";
