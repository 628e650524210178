/** turnlog: durable LLM agent sessions, event-sourced. */

export {
  type Agent,
  agentTool,
  askPerson,
  type ContextOptions,
  type TokenCounter,
  type ToolPolicy,
  type InferAgentUIMessage,
  isCallOf,
} from "../agent/index.ts";
export type { SessionVerification } from "../archive/verify/index.ts";
export type { SessionBill } from "../bill/index.ts";
export {
  type CompactionStrategy,
  type CompactionWhen,
  type TokenEstimator,
  byImportance,
  checkpoint,
  coldCache,
  dropMiddle,
  dropOldest,
  everyTurns,
  idle,
  manual,
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
  type JsonValue,
  type SessionEvent,
  type TokenUsage,
  TurnlogError,
  defineEvents,
  isRedacted,
} from "../events/index.ts";
export { sessionMachine } from "../machines/index.ts";
export type { UserInput } from "../media/index.ts";
export { offlineModel } from "../models/index.ts";
export type { HistoryItem } from "../projections/index.ts";
export {
  type Consumer,
  type ContextFigures,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type Turn,
  type TurnResult,
  callIdentity,
  mirrorSession,
  providerCounter,
  streamEvents,
  uiStream,
} from "../runtime/index.ts";
export type { SendOptions } from "../commands/index.ts";
export {
  type Approval,
  type ListedSession,
  type SessionQuery,
  type SessionView,
  type WaitingQuestion,
} from "../state/index.ts";
export {
  openLog,
  openMemoryLog,
  redactSession,
  collectBlobs,
  verifySession,
  verifyLog,
  exportSession,
  exportFixture,
  readSessionFile,
  importSession,
  importMessages,
  importModelMessages,
  importUIMessages,
  promptWithMedia,
  readBill,
  readContext,
  viewSession,
} from "../loading/index.ts";
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
export type { StoreLog } from "../store/leveldb/index.ts";
export { eventIdentity, sessionAttributes, sessionTracer } from "../telemetry/index.ts";
export type { EventEncoder } from "../ui/index.ts";
