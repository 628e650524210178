/** Runs sessions: creates the runtime, activates and passivates sessions, and hands out session handles. */

export type { Consumer } from "./consumers.ts";
export { createRuntime } from "./create-runtime.ts";
export type { SharedStore } from "./opened-store.ts";
export {
  type CompactionPreview,
  type ContextFigures,
  type LoggedContext,
  afterOverflow,
  compaction,
  providerCounter,
  readContext,
} from "./prompt/index.ts";
export type { RuntimeOptions } from "./runtime-options.ts";
export type { Runtime } from "./runtime.ts";
export { mirrorSession } from "./session-mirror.ts";
export { readAnswer } from "./forwarded-commands.ts";
export { changeStored, whileClaimed } from "./stored-command.ts";
export { checkoutSession, rewindSession } from "./stored-rewind.ts";
export type { SendOptions } from "./session-options.ts";
export type { Session } from "./session.ts";
export {
  type ApprovalAnswer,
  type ApprovalRecorded,
  type CallAnswered,
  type Cancelled,
  eventsOfTurn,
  SessionActor,
  type Turn,
  type TurnResult,
  type RewindPlace,
  type Rewound,
  type RecordedPreparation,
} from "./session/index.ts";
export { withKnownTools } from "./named-tools.ts";
export { type CallAnswer, type CallIdentity, NOT_RUN, callIdentity } from "./tools/index.ts";
export { type UIStreamOptions, uiStream, uiStreamEvents } from "./ui-stream.ts";
