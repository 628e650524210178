/** The AI SDK's call settings, which an agent has at its top level. */

import type { LanguageModelCallOptions, ToolLoopAgentSettings, ToolSet } from "ai";
import { ownCopy } from "../events/index.ts";
import type { LifecycleSettings } from "../telemetry/index.ts";

/** By name; a setting that the SDK adds does not compile until it is here. */
const settings: Readonly<Record<keyof LanguageModelCallOptions, true>> = {
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
};

export function callSettings(agent: LanguageModelCallOptions): LanguageModelCallOptions {
  return ownCopy(
    Object.fromEntries(
      Object.entries(agent).filter(
        ([name, value]) => Object.hasOwn(settings, name) && value !== undefined,
      ),
    ),
  );
}

/** A function whose parameters may be narrower: the AI SDK types its callbacks by the tools of one agent. */
export type Bivariant<Value> = Value extends (...given: infer Given) => infer Answer
  ? { call(...given: Given): Answer }["call"]
  : Value;

// The type of the agent's `prepareCall`.

export type PrepareCall = NonNullable<ToolLoopAgentSettings<unknown, ToolSet>["prepareCall"]>;

// The settings of the AI SDK's `ToolLoopAgent` that are refused, each with its replacement. None is
// ignored: a new SDK setting that is neither here nor supported does not compile.

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
