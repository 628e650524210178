/** turnlog: durable LLM agent sessions, event-sourced. */

export { dropOldest, type CompactionPlan, type CompactionStrategy } from "./context/index.ts";
export {
  TurnlogError,
  type EventLog,
  type JsonValue,
  type RecoveryPolicy,
  type SessionEvent,
  type TokenUsage,
  type TurnEndReason,
  type TurnlogErrorCode,
} from "./events/index.ts";
export {
  openLog,
  openMemoryLog,
  repairLog,
  type Durability,
  type OpenLogOptions,
  type RepairedSession,
  type RepairReport,
} from "./events/leveldb/index.ts";
export { sessionMachine, type SessionMachine } from "./machines/index.ts";
export { offlineModel } from "./models/index.ts";
export {
  createRuntime,
  diffSession,
  listSessions,
  mirrorSession,
  verifyLog,
  verifySession,
  viewSession,
  type Agent,
  type ApprovalAnswer,
  type Cancelled,
  type CompactionEvent,
  type ListedSession,
  type LogProblem,
  type LogRule,
  type LogVerification,
  type Runtime,
  type MirrorOptions,
  type RuntimeOptions,
  type SendOptions,
  type Session,
  type SessionCommand,
  type SessionDiff,
  type SessionVerification,
  type SessionView,
  type StoreOptions,
  type StoreProblem,
  type Turn,
  type TurnResult,
  type UserInput,
  type VerifyOptions,
} from "./runtime/index.ts";
