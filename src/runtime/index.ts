/** The public face of `runtime`: what runs sessions. */

export type { Agent, ApprovalQuestion, TimeLimits, ToolPolicy } from "./agent.ts";
export type { CallLimits } from "./call-limits.ts";
export { callIdentity, type CallIdentity } from "./call-identity.ts";
export type { ContextFigures } from "./context-figures.ts";
export type { CompactionPreview, PreviewOptions } from "./preview.ts";
export { compactionChoice, type CompactionChoice, type ContextOptions } from "./context-options.ts";
export { providerCounter, type ProviderCounterOptions } from "./provider-counter.ts";
export type { CountRequest, TokenCounter } from "./token-counter.ts";
export type { BlobLimits } from "./blobs/blob-shelf.ts";
export { promptWithMedia, type PromptWithMediaOptions } from "./blobs/prompt-with-media.ts";
export { collectBlobs, deleteSession, type DeletedWithBlobs } from "./blobs/used-blobs.ts";
export { receiveInput } from "./user-input.ts";
export { createRuntime } from "./create-runtime.ts";
export type { HttpMcpServer, McpServer, McpServers, StdioMcpServer } from "./mcp/mcp-options.ts";
export { withRecordedOffer } from "./mcp/mcp-tools.ts";
export { agentSchema } from "./border/agent-schema.ts";
export { withKnownPolicies } from "./border/tool-policies.ts";
export type { OpenSessionOptions, Runtime } from "./runtime.ts";
export type { BlobOptions } from "./blobs/opened-blobs.ts";
export type { Encryption, RuntimeOptions, StoreOptions } from "./runtime-options.ts";
export { exportFixture, type FixtureOptions } from "./exchange/fixture.ts";
export { copyBlobs, exportSession, type ExportOptions } from "./exchange/export-session.ts";
export {
  appendFile,
  appendImported,
  checkSessionFile,
  importSession,
  importTwice,
  readSessionFile,
  type Imported,
  type ImportOptions,
  type ImportSessionOptions,
  type SessionFile,
} from "./exchange/import-session.ts";
export { Spool } from "./exchange/spool.ts";
export type { DroppedContent } from "./exchange/dropped-content.ts";
export {
  importModelMessages,
  importUIMessages,
  transcriptOfModelMessages,
  transcriptOfUIMessages,
  type ImportedMessages,
  type MessageImportOptions,
} from "./exchange/import-messages.ts";
export { readContext, type LoggedContext, type LoggedContextOptions } from "./session-context.ts";
export type { AgentChanges } from "./crews.ts";
export {
  redactSession,
  type Redacted,
  type RedactionTarget,
  type RedactOptions,
  type RedactSessionOptions,
} from "./redact-session.ts";
export { DEFAULT_TOOL_CONCURRENCY } from "./agent.ts";
export type { Ending } from "./recorded-order.ts";
export { NOT_RUN } from "./tool-execution.ts";
export { waitsForApproval } from "./open-question.ts";
export { rerunPoint, type RerunPlace } from "./rerun.ts";
export { forkSession, type ForkedSession, type ForkSessionOptions } from "./fork-session.ts";
export { diffSession, type SessionDiff } from "./session-diff.ts";
export { foldSession, initialSessionState, type SessionState } from "./session-state.ts";
export {
  listSessions,
  problemOf,
  viewSession,
  type ListedSession,
  type SessionProblem,
  type SessionView,
} from "./session-view.ts";
export { compactLog, type CompactedLog, type CompactLogOptions } from "./thinning/compact-log.ts";
export type { KeptSteps } from "./thinning/old-steps.ts";
export type { ApprovalAnswer, ApprovalRecorded } from "./approval-answer.ts";
export type { Approval, ApprovalRequest } from "./session-approvals.ts";
export type { CancelOptions, Cancelled } from "./cancellation.ts";
export type {
  CompactionEvent,
  ForkOptions,
  Rerun,
  RerunOptions,
  SendOptions,
  Session,
} from "./session.ts";
export type { ModelLimit, Timer, Wait } from "./timer.ts";
export type { Turn, TurnRest } from "./turn.ts";
export type { TurnStart } from "./turn-rest.ts";
export type { TurnResult } from "./turn-outcome.ts";
export type { MessageWithFiles, UserInput } from "./user-input.ts";
export type { AttachmentOptions } from "./attachment-options.ts";
export type { FileSource } from "./attachment.ts";
export { mirrorSession, type MirrorOptions, type SessionCommand } from "./session-mirror.ts";
export type { LogRule } from "./verify/check.ts";
export { verifyLog, type LogVerification, type StoreProblem } from "./verify/verify-log.ts";
export {
  verifySession,
  type LogProblem,
  type SessionVerification,
  type VerifyOptions,
  type VerifySessionOptions,
} from "./verify/verify-session.ts";
