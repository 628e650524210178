/** turnlog: durable LLM agent sessions, event-sourced. */

export type {
  Agent,
  CallLimits,
  CompactionChoice,
  ContextOptions,
  TimeLimits,
  TokenCounter,
  ToolPolicy,
  TurnContext,
} from "../agent/index.ts";
export {
  type Imported,
  type ImportedMessages,
  type SessionFile,
  copyBlobs,
  exportFixture,
  exportSession,
  importModelMessages,
  importSession,
  importUIMessages,
  readSessionFile,
} from "../archive/exchange/index.ts";
export { type Redacted, forkSession, redactSession } from "../archive/index.ts";
export { trimLog } from "../archive/trim/index.ts";
export {
  type LogVerification,
  type SessionVerification,
  verifyLog,
  verifySession,
} from "../archive/verify/index.ts";
export {
  type CompactionPlan,
  type CompactionStrategy,
  type CompactionWhen,
  type ModelCatalogue,
  type ModelLimits,
  type SessionCost,
  type TokenEstimator,
  byImportance,
  type ScoredTurn,
  checkpoint,
  dropMiddle,
  dropOldest,
  manual,
  modelCatalogue,
  overflow,
  sessionCost,
  slidingWindow,
  summarize,
  threshold,
  tokenizer,
  tokens,
} from "../context/index.ts";
export {
  type BlobStore,
  type EventLog,
  type JsonValue,
  type RecoveryPolicy,
  type SessionEvent,
  type TokenUsage,
  type TurnEndReason,
  TurnlogError,
  type TurnlogErrorCode,
  isRedacted,
  readBlob,
} from "../events/index.ts";
export { type SessionMachine, sessionMachine } from "../machines/index.ts";
export type { McpServers } from "../mcp/index.ts";
export {
  type AttachmentOptions,
  type BlobOptions,
  type UserInput,
  collectBlobs,
  deleteSession,
  promptWithMedia,
} from "../media/index.ts";
export { offlineModel } from "../models/index.ts";
export type { HistoryItem, QueuedMessage, SessionSummary, ToolCall } from "../projections/index.ts";
export {
  type ApprovalAnswer,
  type CallAnswer,
  type CallAnswered,
  type CancelOptions,
  type Cancelled,
  type CompactionPreview,
  type ContextFigures,
  type Encryption,
  type ForkOptions,
  type LoggedContext,
  type RerunOptions,
  type Runtime,
  type RuntimeOptions,
  type TestingOptions,
  type SendOptions,
  type Session,
  type Turn,
  type TurnRest,
  type TurnResult,
  type TurnStart,
  callIdentity,
  createRuntime,
  mirrorSession,
  providerCounter,
  readContext,
} from "../runtime/index.ts";
export {
  type Approval,
  type ListedSession,
  type OutputRequest,
  type SessionDiff,
  type SessionProblem,
  type SessionView,
  diffSession,
  listSessions,
  viewSession,
} from "../state/index.ts";
export { folderBlobs, memoryBlobs } from "../store/blobs/index.ts";
export {
  type EncryptedLog,
  type KeyStore,
  encryptedLog,
  folderKeys,
  memoryKeys,
} from "../store/encryption/index.ts";
export {
  type Durability,
  type OpenLogOptions,
  type RepairReport,
  type StoreLog,
  openLog,
  openMemoryLog,
  repairLog,
} from "../store/leveldb/index.ts";
