/** Folds a session's events into history, prompt, usage, queue and tool calls. Pure; no I/O, no clock. */

export { appendedAt, appended } from "./appended.ts";
export { type ApprovalsState, standingAnswer, approvals } from "./approvals.ts";
export { type BlobsState, type KnownBlob, blobs } from "./blobs.ts";
export {
  activeSpans,
  type BranchesState,
  branches,
  branchAt,
  headOf,
  isWithin,
  leftBranches,
  spansUpTo,
} from "./branches.ts";
export {
  type CalibrationState,
  type EstimateError,
  calibration,
  calibrationFactor,
  type FactorPrior,
  modelKey,
} from "./calibration.ts";
export {
  type CompactionsState,
  compactions,
  withoutScale,
  coveredBy,
  itemRanges,
} from "./compactions.ts";
export { type ContextView, contextView, standingModel, withBinding } from "./context-view.ts";
export { awaitedCalls, outputOf, deferredCalls } from "./deferred-calls.ts";
export { disjointUsage } from "./disjoint-usage.ts";
export {
  type ApprovalDecision,
  type CallApproval,
  type CallPart,
  type HistoryItem,
  type HistoryPart,
  type HistoryState,
  type ProviderCallPart,
  type StepItem,
  type TurnEndItem,
  type UserItem,
  waitingMessage,
} from "./history-item.ts";
export { history } from "./history.ts";
export { type LearnedLimits, learnedLimits, isTooLarge, overflowOf } from "./learned-limits.ts";
export { type Projection, defineProjection } from "./projection.ts";
export {
  type PromptCount,
  type PromptCounts,
  promptCounts,
  withoutCount,
} from "./prompt-counts.ts";
export type { PlacedEntry } from "./prompt-edit.ts";
export {
  type StandingState,
  settingsEvent,
  standing,
  standingText,
  textDigest,
  textEvent,
} from "./standing.ts";
export {
  type PromptText,
  type PromptTool,
  type SentPrompt,
  type StandingPrompt,
  sentPrompt,
  standingPrompt,
  turnInstructions,
  digestOf,
  nextDigest,
  promptDigest,
} from "./sent-prompt.ts";
export {
  type StandingChange,
  indentedText,
  standingChanges,
  type PromptChange,
  type PromptDiff,
  type PromptSource,
  promptDiff,
} from "./prompt-diff.ts";
export { isSamePrompt, messageChange } from "./message-change.ts";
export {
  CUT_OFF_NOTE,
  hasUnanswered,
  isPromptTrimmed,
  itemMessages,
  messagesSince,
  modelOf,
  plainEntries,
  promptEntries,
  promptMessages,
} from "./prompt.ts";
export { EMPTY_STOP, isCustomKind, isSilent, type PromptEntry } from "./prompt-step.ts";
export {
  type PromptProblem,
  type PromptRule,
  promptProblems,
  bindingOf,
} from "./prompt-problems.ts";
export { isReduced } from "./prompt-reduction.ts";
export { type QueuedMessage, acceptedAt, allWaiting, queue, queuedAgain } from "./queue.ts";
export {
  type Gap,
  type ResultMark,
  cutGap,
  cutText,
  partsPair,
  resultText,
} from "./shown-result.ts";
export { succeeded } from "./history-parts.ts";
export {
  type BranchStates,
  type ProjectedState,
  branchStates,
  foldedByBranch,
  foldedByLog,
  initialProjectedState,
  projectionNames,
  sessionProjections,
} from "./session-projections.ts";
export { type SessionSummary, sessionSummary } from "./session-summary.ts";
export {
  cutInput,
  PRUNED_PLACEHOLDER,
  callName,
  cutItem,
  shownItem,
  sightedItem,
} from "./shown-item.ts";
export { type Medium, itemMedia, omittedIn, omittedNote } from "./shown-media.ts";
export {
  type SpanKind,
  type StepTimeline,
  type TimelineSpan,
  stepTimelines,
} from "./step-timeline.ts";
export { type ToolCall, toolCalls } from "./tool-calls.ts";
export {
  type Spending,
  type StepUsage,
  type UsageState,
  addUsage,
  noUsage,
  ownBeside,
  ownSteps,
  spending,
  turnUsage,
  runningStepSchema,
  usage,
} from "./usage.ts";
