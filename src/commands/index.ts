/** The commands of a session, and what is read of it: each said once. Pure. */

import { answerCommands } from "./answers.ts";
import { branchCommands } from "./branches.ts";
import type { Command } from "./command.ts";
import { contextCommands } from "./context.ts";
import { messageCommands } from "./messages.ts";
import { allowance, cancellation } from "./turns.ts";
import { wholeSessionCommands } from "./whole-session.ts";

/** All commands. */
export const commands: readonly Command[] = [
  ...messageCommands,
  cancellation,
  allowance,
  ...answerCommands,
  ...contextCommands,
  ...branchCommands,
  ...wholeSessionCommands,
];

export { reads, signal } from "./reads.ts";
export type {
  Answer,
  CarriedBy,
  Command,
  Permission,
  Preparing,
  Recording,
  Route,
} from "./command.ts";
export type { CommandTarget } from "./target.ts";
export { assertIdle, assertNotClosed, refusal } from "./target.ts";
export { ownArguments, type Parameter } from "./parameters.ts";
export {
  answerApproval,
  answerCall,
  type ApprovalAnswer,
  type ApprovalRecorded,
  type CallAnswer,
  type CallAnswered,
  callToAnswer,
  isAnswered,
} from "./answers.ts";
export { assertBasedOn, basedOn, lastMessageId, type Seen } from "./head.ts";
export { laterThan, resumed, takeDue, waitingMessage } from "./messages.ts";
export {
  lastRun,
  leavingBranch,
  leftTurns,
  replaceMessage,
  replacing,
  rewind,
  runAgain,
} from "./branches.ts";
export { type RewindDecision, type RewindPlace, type Rewound, rewoundSchema } from "./rewound.ts";
export {
  allow,
  type Allowance,
  cancel,
  cancellation,
  type Cancellation,
  type Cancelled,
  type CancelOptions,
} from "./turns.ts";
export {
  deletion,
  metadataSchema,
  redaction,
  redactionSchema,
  shortText,
} from "./whole-session.ts";
export type {
  AgentChanges,
  AppendOptions,
  CompactOptions,
  DeletionOptions,
  EventsOptions,
  ForkOptions,
  MoveOptions,
  PersonOptions,
  PositionOptions,
  PreviewOptions,
  RegenerateOptions,
  RerunOptions,
  RestOptions,
  RewindOptions,
  ScheduleOptions,
  SendOptions,
  TurnValues,
  WithdrawOptions,
} from "./options.ts";
