/**
 * The settings of the AI SDK's `ToolLoopAgent` that are refused, each with its replacement. None is
 * ignored: a new SDK setting that is neither here nor supported does not compile.
 */

import type { LanguageModelCallOptions, ToolLoopAgentSettings, ToolSet } from "ai";
import type { LifecycleSettings } from "../telemetry/index.ts";

/** Settings with the SDK's name and meaning. */
type Supported =
  | "model"
  | "instructions"
  | "tools"
  | "stopWhen"
  | "output"
  | "toolsContext"
  | "runtimeContext"
  | "headers"
  | "providerOptions"
  | "repairToolCall"
  | keyof LifecycleSettings;

/** Settings that are refused. */
export type UnsupportedSetting = Exclude<keyof ToolLoopAgentSettings<never, ToolSet>, Supported>;

const callSetting = (name: keyof LanguageModelCallOptions): string =>
  `put it into \`settings\`: \`settings: { ${name}: … }\`.`;
const closure =
  "let the tools' `execute` close over what they need; `callIdentity(options)` tells which session calls.";

/** The hint in the refusal of each setting. */
export const sdkSettings: Readonly<Record<UnsupportedSetting, string>> = {
  maxOutputTokens: callSetting("maxOutputTokens"),
  temperature: callSetting("temperature"),
  topP: callSetting("topP"),
  topK: callSetting("topK"),
  presencePenalty: callSetting("presencePenalty"),
  frequencyPenalty: callSetting("frequencyPenalty"),
  stopSequences: callSetting("stopSequences"),
  seed: callSetting("seed"),
  reasoning: callSetting("reasoning"),
  maxRetries: "set `maxAttempts`, which counts the first attempt too (`maxRetries` + 1).",
  timeout:
    "set `timeLimits` for model calls and turns, and `toolTimeoutMs` or `toolPolicies` for tools.",
  id: "sessions have ids (`runtime.session(id)`), an agent has none. Leave it out.",
  allowSystemInMessages: "messages are user messages: put system text into `instructions`.",
  toolChoice: "the model chooses. Say in `instructions` when a tool is to be called.",
  activeTools:
    "give the tools that the model may call as `tools`, or change them in a fork: `session.fork({ tools })`.",
  toolOrder: "tools are sent in the order in which `tools` has them.",
  toolCallConcurrency: "set `toolConcurrency`, or `toolPolicies.<tool>.concurrency` for one tool.",
  toolApproval:
    "set `needsApproval` of the tool, or `needsApproval` of the agent for all tools. Without one of them a tool runs unasked.",
  experimental_toolCallers: "every tool is called by the model.",
  experimental_toolApprovalSecret:
    "approvals are requested and answered in the log, not by a client's messages.",
  prepareStep:
    "a step has the agent's model, instructions and tools. Change them between turns in a fork, and set what the model gets to see by `context`.",
  experimental_repairToolCall: "it is called `repairToolCall`.",
  experimental_refineToolInput:
    "let the tool's `inputSchema` transform the input, or its `execute`.",
  experimental_download: "set `attachments.fetch` of the runtime.",
  include: "the log holds every part that a step was answered with.",
  _internal: "set `newId` of the runtime.",
  callOptionsSchema: closure,
  prepareCall:
    "create a runtime with the agent that is to answer, or change it in a fork: `session.fork({ agent })`.",
};
