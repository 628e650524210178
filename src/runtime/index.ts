/** The public face of `runtime`: what runs sessions. */

export type { Agent } from "./agent.ts";
export {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type StoreOptions,
} from "./create-runtime.ts";
export { exportSession } from "./exchange/export-session.ts";
export {
  appendImported,
  importSession,
  readSessionFile,
  type Imported,
  type ImportOptions,
  type SessionFile,
} from "./exchange/import-session.ts";
export {
  importModelMessages,
  importUIMessages,
  transcriptOfModelMessages,
  transcriptOfUIMessages,
  type ImportedMessages,
  type MessageImportOptions,
} from "./exchange/import-messages.ts";
export { diffSession, type SessionDiff } from "./session-diff.ts";
export { foldSession, initialSessionState, type SessionState } from "./session-state.ts";
export { listSessions, viewSession, type ListedSession, type SessionView } from "./session-view.ts";
export type {
  ApprovalAnswer,
  Cancelled,
  CompactionEvent,
  SendOptions,
  Session,
} from "./session.ts";
export type { Turn } from "./turn.ts";
export type { TurnResult } from "./turn-outcome.ts";
export type { UserInput } from "./user-input.ts";
export { mirrorSession, type MirrorOptions, type SessionCommand } from "./session-mirror.ts";
export type { LogRule } from "./verify/check.ts";
export { verifyLog, type LogVerification, type StoreProblem } from "./verify/verify-log.ts";
export {
  verifySession,
  type LogProblem,
  type SessionVerification,
  type VerifyOptions,
} from "./verify/verify-session.ts";
