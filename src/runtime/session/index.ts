/** A live session: its commands, its actor, its effects and its writer. */

export {
  type ApprovalAnswer,
  type ApprovalRecorded,
  answerApproval,
  isAnswered,
} from "./approval-answer.ts";
export { answerCall, callToAnswer, type CallAnswered } from "./call-answer.ts";
export { type Seen, assertBasedOn } from "./session-head.ts";
export { type Cancellation, type CancelOptions, type Cancelled, cancel } from "./cancellation.ts";
export { commandEventId, executedAt, recordedRewind } from "./command-outcome.ts";
export * as commands from "./commands.ts";
export type { CommandTarget, Schedule, WithdrawOptions } from "./commands.ts";
export { leavingBranch } from "./repeated-messages.ts";
export {
  type RewindDecision,
  type RewindManner,
  type RewindPlace,
  type Rewound,
  checkout,
  lastMessageId,
  lastRun,
  replaceMessage,
  replacing,
  rewind,
  rewoundSchema,
  runAgain,
} from "./rewind.ts";
export { SessionActor } from "./session-actor.ts";
export { openChain } from "./session-chain.ts";
export { type KeepingMoment, SnapshotWriter } from "./snapshot-writer.ts";
export { type TurnResult, outcomeOf, restOf, startOf, turnRemains } from "./turn-outcome.ts";
export type { LimitReached } from "./session-effects.ts";
export type { ContextFor } from "./running-turn.ts";
export { HeldValues, type TurnValues } from "./turn-values.ts";
export { type Turn, createTurn, eventsOfTurn } from "./turn.ts";
export { type Watched, Watchers } from "./watchers.ts";
export type { RecordedPreparation } from "./step-preparation.ts";
