/** The options that both step sources pass to the AI SDK for a call. */

import { type Agent, callSettings, type StepRequest } from "../../agent/index.ts";
import { ownCopy } from "../../events/index.ts";
import type { Instructions, LanguageModelCallOptions, ModelMessage } from "ai";

type CallRequest = LanguageModelCallOptions &
  Pick<Agent, "model" | "headers" | "providerOptions" | "repairToolCall" | "toolChoice"> & {
    readonly instructions?: Instructions;
    readonly messages: ModelMessage[];
    readonly abortSignal: AbortSignal;
    readonly toolsContext?: never;
  };

/** Without tools: each source adds them in its own way. */
export function callRequest({ agent, messages, signal, context }: StepRequest): CallRequest {
  const { model, instructions, headers, providerOptions, repairToolCall, toolChoice } = agent;
  return {
    ...callSettings(agent),
    model,
    messages: [...messages],
    abortSignal: signal,
    // The SDK types the contexts by the tools, which are not known here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    ...(context === undefined ? {} : { toolsContext: { ...context.toolsContext } as never }),
    ...(instructions === undefined ? {} : { instructions: ownCopy(instructions) }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(providerOptions === undefined ? {} : { providerOptions: ownCopy(providerOptions) }),
    ...(repairToolCall === undefined ? {} : { repairToolCall: withOwnPrompt(repairToolCall) }),
  };
}

/** The repair function gets a copy of the prompt, which it may change. */
function withOwnPrompt(
  repair: NonNullable<Agent["repairToolCall"]>,
): NonNullable<Agent["repairToolCall"]> {
  return (broken) => repair({ ...broken, messages: ownCopy(broken.messages) });
}
