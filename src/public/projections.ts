/** The face of `projections`: what a log means. Pure folds, no I/O. */

export {
  lastMessage,
  lastTurn,
  pointBefore,
  type Branching,
  type BranchPoint,
  type Retraction,
} from "../projections/index.ts";
export { answerForGood, approvals, type ApprovalsState } from "../projections/index.ts";
export {
  calibration,
  calibrationFactor,
  modelKey,
  type CalibrationState,
  type EstimateError,
} from "../projections/index.ts";
export { blobs, type BlobsState, type KnownBlob } from "../projections/index.ts";
export { compactions, type CompactionsState } from "../projections/index.ts";
export {
  contextView,
  type Compaction,
  type ContextView,
  type MediaOmission,
  type Pruning,
  type ResultCut,
} from "../projections/index.ts";
export { disjointUsage } from "../projections/index.ts";
export { waitingMessage } from "../projections/index.ts";
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
} from "../projections/index.ts";
export { history } from "../projections/index.ts";
export {
  defineProjection,
  projectionStore,
  type Projection,
  type ProjectionDefinition,
  type Transitions,
} from "../projections/index.ts";
export { resultPosition, succeeded } from "../projections/index.ts";
export { learnedLimits, type LearnedLimits } from "../projections/index.ts";
export { isTooLarge, overflowOf, type Overflow } from "../projections/index.ts";
export { promptCounts, type PromptCount, type PromptCounts } from "../projections/index.ts";
export { promptDigest } from "../projections/index.ts";
export {
  promptDiff,
  type PromptChange,
  type PromptChangeReason,
  type PromptDiff,
  type PromptSource,
} from "../projections/index.ts";
export {
  CUT_OFF_NOTE,
  hasUnanswered,
  isPromptTrimmed,
  itemMessages,
  messagesSince,
  modelOf,
  promptEntries,
  promptMessages,
  type PromptEntry,
  type PromptOrigin,
} from "../projections/index.ts";
export { bindingOf } from "../projections/index.ts";
export { acceptedAt, queue, type QueuedMessage, type QueueState } from "../projections/index.ts";
export { coveredBy, itemRuns } from "../projections/index.ts";
export {
  cutGap,
  cutText,
  partsPair,
  resultText,
  type Gap,
  type ResultMark,
} from "../projections/index.ts";
export { itemMedia, omittedIn, omittedNote, type Medium } from "../projections/index.ts";
export {
  callName,
  cutItem,
  PRUNED_PLACEHOLDER,
  shownItem,
  sightedItem,
} from "../projections/index.ts";
export { sessionSummary, type SessionSummary } from "../projections/index.ts";
export {
  toolCalls,
  type ToolCall,
  type ToolCallsState,
  type ToolCallStatus,
} from "../projections/index.ts";
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
} from "../projections/index.ts";
export {
  stepTimelines,
  type SpanKind,
  type StepTimeline,
  type TimelineSpan,
} from "../projections/index.ts";
