/** What both step sources hand to the AI SDK for a call, made from the agent and the prompt. */

import type { Agent } from "./agent.ts";
import type { StepRequest } from "./step-source.ts";
import type { ModelMessage } from "ai";

type CallRequest = NonNullable<Agent["settings"]> &
  Pick<Agent, "model" | "instructions" | "headers" | "providerOptions" | "repairToolCall"> & {
    readonly messages: ModelMessage[];
    readonly abortSignal: AbortSignal;
  };

/** Tools are the source's own affair: one of them must not have them run. */
export function callRequest({ agent, messages, signal }: StepRequest): CallRequest {
  const { settings, model, instructions, headers, providerOptions, repairToolCall } = agent;
  return {
    ...settings,
    model,
    messages: [...messages],
    abortSignal: signal,
    ...(instructions === undefined ? {} : { instructions }),
    ...(headers === undefined ? {} : { headers }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(repairToolCall === undefined ? {} : { repairToolCall }),
  };
}
