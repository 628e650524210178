/** turnlog: durable LLM agent sessions, event-sourced. */

export {
  type Agent,
  agentTool,
  type CompactionChoice,
  type ContextOptions,
  type TokenCounter,
  type ToolPolicy,
  type TurnContext,
} from "../agent/index.ts";
export {
  copyBlobs,
  exportFixture,
  exportSession,
  importModelMessages,
  importSession,
  importUIMessages,
  readSessionFile,
} from "../archive/exchange/index.ts";
export { type DeletedSessions, forkSession, redactSession } from "../archive/index.ts";
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
  type ModelLimits,
  type SessionCost,
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
  type AppEvent,
  type AppEvents,
  type BlobStore,
  type EventLog,
  type SessionEvent,
  type TokenUsage,
  type TurnEndReason,
  TurnlogError,
  type TurnlogErrorCode,
  defineEvents,
  isRedacted,
} from "../events/index.ts";
export { sessionMachine } from "../machines/index.ts";
export type { McpServers } from "../mcp/index.ts";
export { type UserInput, collectBlobs, deleteSession, promptWithMedia } from "../media/index.ts";
export { offlineModel } from "../models/index.ts";
export type { HistoryItem, QueuedMessage } from "../projections/index.ts";
export type { DescribedCall as ToolCall } from "../state/index.ts";
export {
  type ApprovalAnswer,
  type CallAnswer,
  type CallAnswered,
  type Cancelled,
  type CompactionPreview,
  type Consumer,
  type ContextFigures,
  type ForkOptions,
  type ResumedSessions,
  type Rewound,
  type Runtime,
  type RuntimeOptions,
  type SendOptions,
  type Session,
  type Turn,
  type TurnResult,
  type UIStreamOptions,
  callIdentity,
  mirrorSession,
  providerCounter,
  readContext,
  uiStream,
} from "../runtime/index.ts";
export {
  type Approval,
  type ListedSession,
  type SessionQuery,
  type OutputRequest,
  type SessionBranch,
  type SessionDiff,
  type SessionView,
  type WaitingQuestion,
  diffSession,
  listSessions,
  viewSession,
} from "../state/index.ts";
export { createRuntime } from "../sharing/index.ts";
export { folderBlobs, memoryBlobs } from "../store/blobs/index.ts";
export {
  type EncryptedLog,
  type KeyStore,
  encryptedLog,
  type MasterKeys,
  folderKeys,
  masterKeys,
  memoryKeys,
} from "../store/encryption/index.ts";
export { type StoreLog, openLog, openMemoryLog, repairLog } from "../store/leveldb/index.ts";
export { eventIdentity, sessionAttributes } from "../telemetry/index.ts";
export { type InferAgentUIMessage, isCallOf } from "../agent/index.ts";
