/**
 * The settings of the AI SDK's `ToolLoopAgent` that are refused, each with its replacement. None is
 * ignored: a new SDK setting that is neither here nor supported does not compile.
 */

import type { LanguageModelCallOptions, ToolLoopAgentSettings, ToolSet } from "ai";
import type { LifecycleSettings } from "../telemetry/index.ts";

/** Settings with the SDK's name and meaning. */
type Supported =
  | keyof LanguageModelCallOptions
  | "id"
  | "model"
  | "instructions"
  | "tools"
  | "stopWhen"
  | "output"
  | "prepareStep"
  | "prepareCall"
  | "callOptionsSchema"
  | "activeTools"
  | "toolOrder"
  | "toolChoice"
  | "toolApproval"
  | "toolCallConcurrency"
  | "toolsContext"
  | "runtimeContext"
  | "experimental_refineToolInput"
  | "repairToolCall"
  | "maxRetries"
  | "timeout"
  | "headers"
  | "providerOptions"
  | keyof LifecycleSettings;

export type UnsupportedSetting = Exclude<keyof ToolLoopAgentSettings<never, ToolSet>, Supported>;

/** The hint in the refusal of each setting. */
export const sdkSettings: Readonly<Record<UnsupportedSetting, string>> = {
  allowSystemInMessages: "messages are user messages: put system text into `instructions`.",
  experimental_toolCallers: "every tool is called by the model.",
  experimental_toolApprovalSecret:
    "approvals are requested and answered in the log, not by a client's messages.",
  experimental_repairToolCall: "it is called `repairToolCall`.",
  experimental_download: "set `attachments.fetch` of the runtime.",
  include: "the log holds every part that a step was answered with.",
  _internal: "set `testing.newId` of the runtime.",
};
