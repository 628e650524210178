/** The agent that a user passes in: its settings, their validation, and the interface of model calls. */

export {
  interruptedPolicy,
  type AgentToolOptions,
  type RunInSession,
  DEFAULT_MAX_DEPTH,
  agentToolOptions,
  withAgentTool,
  agentTool,
} from "./agent-tool.ts";
export {
  type AnsweredQuestion,
  AskedPerson,
  type PersonAnswer,
  asking,
  askPerson,
} from "./ask-person.ts";
export { agentSchema, contextSchema, strategySchema, schemaOfSdk } from "./agent-schema.ts";
export {
  type Agent,
  type PreparedAgent,
  type ToolPolicy,
  heldAgent,
  prepareAgent,
  stepLimit,
  checkTools,
} from "./agent.ts";
export {
  callLimits,
  hastyLimits,
  maxAttempts,
  retryLimits,
  type RetryLimits,
  toolConcurrency,
  toolTimeoutMs,
  turnLimits,
  CallWatch,
  metCondition,
} from "./agent-limits.ts";
export { type Fallback, fallbackModels, nameOf, usualKinds, withModel } from "./fallback.ts";
export { callSettings } from "./call-settings.ts";
export { bindSearch, foundBy, loadedAgent, searchTools, withoutSearch } from "./tool-search.ts";
export { requestTools, type InferAgentUIMessage, isCallOf } from "./request-tools.ts";
export { sentTools, type ReadRequest, bindReader, readerName, withReader } from "./reader-tool.ts";
export { approvalStatus } from "./tool-approval.ts";
export {
  type CompactionChoice,
  type ContextOptions,
  type CountRequest,
  DEFAULT_COUNT_MS,
  type TokenCounter,
  checkContext,
  compactionChoice,
  compactionHow,
  mediaLimits,
} from "./context-options.ts";
export {
  type TurnAnswer,
  type TurnContext,
  assertToolContexts,
  contextOf,
  returnedContext,
  toolContext,
  turnContextSchema,
} from "./turn-context.ts";
export { callOptions, preparedCall, turnOverrides } from "./prepare-call.ts";
export {
  type StepOptions,
  modelNamed,
  preparedFor,
  stepChanges,
  stepOverrides,
} from "./prepare-step.ts";
export type {
  Caching,
  CallFailure,
  CallObserver,
  PartType,
  RecordedPart,
  StepOutput,
  StepRequest,
  StepSource,
} from "./step-source.ts";
export {
  awaited,
  guardedCatalogue,
  guardedContext,
  guardedStrategy,
  isCallbackFailure,
} from "./user-callbacks.ts";
export {
  type ParsedOutput,
  isStructured,
  outputSchema,
  parsedOutput,
  unreportedUsage,
} from "./turn-output.ts";
