/** Runs sessions: creates the runtime, keeps live sessions, and hands out session handles. */

export type { AgentChanges } from "./agent-registry.ts";
export { createRuntime } from "./create-runtime.ts";
export {
  type CompactionPreview,
  type ContextFigures,
  type LoggedContext,
  type LoggedContextOptions,
  type PreviewOptions,
  type ProviderCounterOptions,
  afterOverflow,
  compaction,
  providerCounter,
  readContext,
} from "./prompt/index.ts";
export type { Encryption, RuntimeOptions, StoreOptions } from "./runtime-options.ts";
export type { OpenSessionOptions, Runtime } from "./runtime.ts";
export { type MirrorOptions, type SessionCommand, mirrorSession } from "./session-mirror.ts";
export type {
  CompactionEvent,
  ForkOptions,
  Rerun,
  RerunOptions,
  SendOptions,
  Session,
} from "./session.ts";
export {
  type ApprovalAnswer,
  type ApprovalRecorded,
  type CancelOptions,
  type Cancelled,
  SessionActor,
  type Turn,
  type TurnRest,
  type TurnResult,
  type TurnStart,
} from "./session/index.ts";
export { withKnownPolicies } from "./tool-policies.ts";
export { type CallIdentity, NOT_RUN, callIdentity } from "./tools/index.ts";
