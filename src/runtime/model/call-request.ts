/** What both step sources hand to the AI SDK for a call, made from the agent and the prompt. */

import type { Agent, StepRequest } from "../../agent/index.ts";
import { ownCopy } from "../../events/index.ts";
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
    ...ownCopy(settings),
    model,
    messages: [...messages],
    abortSignal: signal,
    ...(instructions === undefined ? {} : { instructions }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(providerOptions === undefined ? {} : { providerOptions: ownCopy(providerOptions) }),
    ...(repairToolCall === undefined ? {} : { repairToolCall: shownOwnPrompt(repairToolCall) }),
  };
}

/** Who mends a call may change the prompt that it is shown, and changes nobody else's. */
function shownOwnPrompt(
  repair: NonNullable<Agent["repairToolCall"]>,
): NonNullable<Agent["repairToolCall"]> {
  return (broken) => repair({ ...broken, messages: ownCopy(broken.messages) });
}
