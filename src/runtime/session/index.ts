/** A live session: its actor, its effects and its writer. */

export {
  type ApprovalAnswer,
  type ApprovalRecorded,
  addsNothing,
  answerEvent,
  answeredOtherwise,
  notWaiting,
} from "./approval-answer.ts";
export { type CancelOptions, type Cancelled, requestCancel } from "./cancellation.ts";
export { SessionActor } from "./session-actor.ts";
export { openChain } from "./session-chain.ts";
export { type KeepingMoment, SnapshotWriter } from "./snapshot-writer.ts";
export { type TurnResult, outcomeOf, turnRemains } from "./turn-outcome.ts";
export { type TurnStart, restOf, startOf } from "./turn-rest.ts";
export { type Turn, type TurnRest, createTurn } from "./turn.ts";
export { Watchers } from "./watchers.ts";
