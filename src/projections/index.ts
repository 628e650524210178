/** The face of `projections`: what a log means. Pure folds, no I/O. */

export {
  lastMessage,
  lastTurn,
  pointBefore,
  type Branching,
  type BranchPoint,
  type Retraction,
} from "./branch-point.ts";
export { answerForGood, approvals, type ApprovalsState } from "./approvals.ts";
export {
  calibration,
  calibrationFactor,
  modelKey,
  type CalibrationState,
  type EstimateError,
} from "./calibration.ts";
export { blobs, type BlobsState, type KnownBlob } from "./blobs.ts";
export { compactions, type CompactionsState } from "./compactions.ts";
export {
  contextView,
  type Compaction,
  type ContextView,
  type MediaOmission,
  type Pruning,
  type ResultCut,
} from "./context-view.ts";
export { disjointUsage } from "./disjoint-usage.ts";
export { waitingMessage } from "./history-item.ts";
export type {
  ApprovalDecision,
  BlockPart,
  CallApproval,
  CallOutcome,
  CallPart,
  CustomPart,
  ErrorPart,
  FilePart,
  HistoryItem,
  HistoryPart,
  HistoryState,
  NoteItem,
  ProviderCallPart,
  ProviderResultPart,
  SourcePart,
  StepItem,
  TurnEndItem,
  UserItem,
  WaitingMessage,
} from "./history-item.ts";
export { history } from "./history.ts";
export {
  defineProjection,
  projectionStore,
  type Projection,
  type ProjectionDefinition,
  type Transitions,
} from "./projection.ts";
export { resultPosition, succeeded } from "./result-position.ts";
export { learnedLimits, type LearnedLimits } from "./learned-limits.ts";
export { isTooLarge, overflowOf, type Overflow } from "./overflow.ts";
export { promptCounts, type PromptCount, type PromptCounts } from "./prompt-counts.ts";
export { promptDigest } from "./prompt-digest.ts";
export {
  promptDiff,
  type PromptChange,
  type PromptChangeReason,
  type PromptDiff,
  type PromptSource,
} from "./prompt-diff.ts";
export {
  CUT_OFF_NOTE,
  hasUnanswered,
  isPromptThinned,
  itemMessages,
  messagesSince,
  modelOf,
  promptEntries,
  promptMessages,
  type PromptEntry,
  type PromptOrigin,
} from "./prompt.ts";
export { bindingOf } from "./provider-bound.ts";
export { acceptedAt, queue, type QueuedMessage, type QueueState } from "./queue.ts";
export { coveredBy, itemRuns } from "./covered.ts";
export { cutGap, cutText, partsPair, resultText, type Gap, type ResultMark } from "./result-cut.ts";
export { itemMedia, omittedIn, omittedNote, type Medium } from "./shown-media.ts";
export { callName, cutItem, PRUNED_PLACEHOLDER, shownItem, sightedItem } from "./shown-item.ts";
export { sessionSummary, type SessionSummary } from "./session-summary.ts";
export {
  toolCalls,
  type ToolCall,
  type ToolCallsState,
  type ToolCallStatus,
} from "./tool-calls.ts";
export {
  addUsage,
  noUsage,
  spending,
  ownBeside,
  ownSteps,
  turnUsage,
  usage,
  type RunningStep,
  type SideUsage,
  type Spending,
  type StepUsage,
  type UsageState,
} from "./usage.ts";
export {
  stepTimelines,
  type SpanKind,
  type StepTimeline,
  type TimelineSpan,
} from "./step-timeline.ts";
