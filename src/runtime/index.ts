/** Runs sessions: creates the runtime, activates and passivates sessions, and hands out session handles. */

export type { Consumer } from "./api/consumers.ts";
export { createRuntime } from "./create-runtime.ts";
export type { SharedStore } from "./open-runtime.ts";
export type { CompactionPreview } from "./prompt/compaction-end.ts";
export type { ContextFigures } from "./prompt/context-figures.ts";
export { keepingBill, readStoreBill } from "./figures/bill-model.ts";
export { dueAt, type LoggedContext, readContext } from "./prompt/logged-context.ts";
export { afterOverflow } from "./prompt/pipeline.ts";
export { compaction } from "./prompt/compaction-end.ts";
export { providerCounter } from "./prompt/provider-counter.ts";
export type { RuntimeOptions } from "./api/runtime-options.ts";
export type { Runtime } from "./api/runtime.ts";
export { mirrorSession } from "./reading/mirror.ts";
export { isOfCommand, readAnswer } from "./elsewhere/forwarded-commands.ts";
export { changeStored, giveStored } from "./elsewhere/stored-commands.ts";
export { whileClaimed } from "./live/claims.ts";
export type { Session } from "./api/session.ts";
export { eventsOfTurn, type Turn } from "./session/turn.ts";
export { SessionActor } from "./session/actor.ts";
export type { TurnResult } from "./session/turn-outcome.ts";
export type { RecordedPreparation } from "./model/recording.ts";
export { withKnownTools } from "./api/named-tools.ts";
export { type CallIdentity, callIdentity, NOT_RUN } from "./tools/tool-execution.ts";
export {
  encodedEvents,
  type StreamOptions,
  streamEvents,
  uiStream,
  hiddenSchema,
} from "./reading/stream-events.ts";
