/** turnlog: durable LLM agent sessions, event-sourced. */

export {
  type Agent,
  agentTool,
  askPerson,
  type InferAgentUIMessage,
  isCallOf,
} from "../agent/index.ts";
export {
  type CompactionStrategy,
  type CompactionWhen,
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
  type BlobStore,
  type EventLog,
  type JsonValue,
  type SessionEvent,
  TurnlogError,
  defineEvents,
  isRedacted,
} from "../events/index.ts";
export { sessionMachine } from "../machines/index.ts";
export { offlineModel } from "../models/index.ts";
export type { HistoryItem } from "../projections/index.ts";
export {
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
export { type ListedSession, type SessionView } from "../state/index.ts";
export {
  openLog,
  openMemoryLog,
  collectBlobs,
  verifySession,
  verifyLog,
  exportSession,
  exportFixture,
  readSessionFile,
  importSession,
  importMessages,
  promptWithMedia,
  readBill,
  readContext,
  viewSession,
} from "../loading/index.ts";
export { createRuntime } from "../sharing/index.ts";
export { folderBlobs, memoryBlobs } from "../store/blobs/index.ts";
export {
  type KeyStore,
  encryptedLog,
  folderKeys,
  masterKeys,
  memoryKeys,
} from "../store/encryption/index.ts";
export type { StoreLog } from "../store/leveldb/index.ts";
export { eventIdentity, sessionAttributes, sessionTracer } from "../telemetry/index.ts";
export type { EventEncoder } from "../ui/index.ts";
