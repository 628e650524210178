/** The options that both step sources pass to the AI SDK for a call. */

import { type Agent, callSettings, sentTools, type StepRequest } from "../../agent/index.ts";
import { ownCopy } from "../../events/index.ts";
import { wellFormed } from "../../shared/index.ts";
import { namedModelOptions } from "./cache-marks.ts";
import { thinkingSettings } from "./reasoning-loop.ts";
import type { Instructions, LanguageModelCallOptions, ModelMessage } from "ai";

type CallRequest = LanguageModelCallOptions &
  Pick<Agent, "model" | "headers" | "providerOptions" | "repairToolCall" | "toolChoice"> & {
    readonly instructions?: Instructions;
    readonly messages: ModelMessage[];
    readonly abortSignal: AbortSignal;
    readonly toolsContext?: never;
  };

/** Without tools: each source adds them in its own way. */
export function callRequest(request: StepRequest): CallRequest {
  const { messages, signal, context } = request;
  const agent: Agent = { ...request.agent, ...thinkingSettings(request) };
  const { model, instructions, headers, repairToolCall, toolChoice } = agent;
  const providerOptions =
    typeof model === "string"
      ? withGatewayCaching(model, { ...request, agent })
      : agent.providerOptions;
  return {
    ...callSettings(agent),
    model,
    messages: [...messages],
    abortSignal: signal,
    // The SDK types the contexts by the tools, which are not known here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    ...(context === undefined ? {} : { toolsContext: { ...context.toolsContext } as never }),
    ...sentInstructions(instructions),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(providerOptions === undefined ? {} : { providerOptions: ownCopy(providerOptions) }),
    ...(repairToolCall === undefined ? {} : { repairToolCall: withOwnPrompt(repairToolCall) }),
  };
}

/** Providers refuse a system message of white space only. */
function sentInstructions(given: Agent["instructions"]): Pick<CallRequest, "instructions"> {
  if (given === undefined) return {};
  const instructions = wellFormed(ownCopy(given));
  if (typeof instructions === "string") return instructions.trim() === "" ? {} : { instructions };
  const kept = [instructions].flat().filter(({ content }) => content.trim() !== "");
  return kept.length === 0 ? {} : { instructions: kept };
}

function withGatewayCaching(modelId: string, { agent, messages, caching }: StepRequest) {
  const { instructions = [], providerOptions } = agent;
  const system = [instructions].flat().filter((one) => typeof one === "object");
  const tools = Object.values(sentTools(agent) ?? {});
  return namedModelOptions(
    modelId,
    { tools, prompt: [...system, ...messages], ...(providerOptions && { providerOptions }) },
    caching,
  );
}

/** The repair function gets a copy of the prompt, which it may change. */
function withOwnPrompt(
  repair: NonNullable<Agent["repairToolCall"]>,
): NonNullable<Agent["repairToolCall"]> {
  return (broken) => repair({ ...broken, messages: ownCopy(broken.messages) });
}
