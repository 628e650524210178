/** Pure folds over the events of a session. */

export { type ApprovalsState, answerForGood, approvals } from "./approvals.ts";
export { type BlobsState, type KnownBlob, blobs } from "./blobs.ts";
export {
  type BranchPoint,
  type Branching,
  type Retraction,
  lastMessage,
  lastTurn,
  pointBefore,
} from "./branch-point.ts";
export {
  type CalibrationState,
  type EstimateError,
  calibration,
  calibrationFactor,
  modelKey,
} from "./calibration.ts";
export { type CompactionsState, compactions } from "./compactions.ts";
export {
  type Compaction,
  type ContextView,
  type MediaOmission,
  type Pruning,
  type ResultCut,
  contextView,
} from "./context-view.ts";
export { coveredBy, itemRuns } from "./covered.ts";
export { disjointUsage } from "./disjoint-usage.ts";
export {
  type ApprovalDecision,
  type BlockPart,
  type CallApproval,
  type CallOutcome,
  type CallPart,
  type CustomPart,
  type ErrorPart,
  type FilePart,
  type HistoryItem,
  type HistoryPart,
  type HistoryState,
  type NoteItem,
  type ProviderCallPart,
  type ProviderResultPart,
  type SourcePart,
  type StepItem,
  type TurnEndItem,
  type UserItem,
  type WaitingMessage,
  waitingMessage,
} from "./history-item.ts";
export { history } from "./history.ts";
export { type LearnedLimits, learnedLimits } from "./learned-limits.ts";
export { type Overflow, isTooLarge, overflowOf } from "./overflow.ts";
export {
  type Projection,
  type ProjectionDefinition,
  type Transitions,
  defineProjection,
  projectionStore,
} from "./projection.ts";
export { type PromptCount, type PromptCounts, promptCounts } from "./prompt-counts.ts";
export {
  type PromptChange,
  type PromptChangeReason,
  type PromptDiff,
  type PromptSource,
  promptDiff,
} from "./prompt-diff.ts";
export { promptDigest } from "./prompt-digest.ts";
export {
  CUT_OFF_NOTE,
  type PromptEntry,
  type PromptOrigin,
  hasUnanswered,
  isPromptTrimmed,
  itemMessages,
  messagesSince,
  modelOf,
  promptEntries,
  promptMessages,
} from "./prompt.ts";
export { bindingOf } from "./provider-bound.ts";
export { type QueueState, type QueuedMessage, acceptedAt, queue } from "./queue.ts";
export { type Gap, type ResultMark, cutGap, cutText, partsPair, resultText } from "./result-cut.ts";
export { resultPosition, succeeded } from "./result-position.ts";
export { type SessionSummary, sessionSummary } from "./session-summary.ts";
export { PRUNED_PLACEHOLDER, callName, cutItem, shownItem, sightedItem } from "./shown-item.ts";
export { type Medium, itemMedia, omittedIn, omittedNote } from "./shown-media.ts";
export {
  type SpanKind,
  type StepTimeline,
  type TimelineSpan,
  stepTimelines,
} from "./step-timeline.ts";
export {
  type ToolCall,
  type ToolCallStatus,
  type ToolCallsState,
  toolCalls,
} from "./tool-calls.ts";
export {
  type RunningStep,
  type SideUsage,
  type Spending,
  type StepUsage,
  type UsageState,
  addUsage,
  noUsage,
  ownBeside,
  ownSteps,
  spending,
  turnUsage,
  usage,
} from "./usage.ts";
