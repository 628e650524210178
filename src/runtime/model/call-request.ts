/** The options that both step sources pass to the AI SDK for a call. */

import {
  type Agent,
  callSettings,
  sentTools,
  type StepRequest,
  foundBy,
  loadedAgent,
  searchTools,
  nameOf,
} from "../../agent/index.ts";
import { ownCopy } from "../../events/index.ts";
import { wellFormed } from "../../shared/index.ts";
import { namedModelOptions } from "./cache-marks.ts";
import type { Instructions, LanguageModelCallOptions, ModelMessage, CallWarning } from "ai";
import type { LanguageModelV4Message, LanguageModelV4Prompt, JSONObject } from "@ai-sdk/provider";
import type { HistoryState } from "../../projections/index.ts";
import { z } from "zod";
import { modelFamily } from "../../context/index.ts";

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
    ...(repairToolCall && {
      // It gets a copy of the prompt, which it may change.
      repairToolCall: (broken) => repairToolCall({ ...broken, messages: ownCopy(broken.messages) }),
    }),
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

// Copies the prompt of a call: a provider or a middleware may change its own. Every step copies all messages,
// so the fields that can be changed are known here; a copy that looks for them takes three times as long.

type Part = Exclude<LanguageModelV4Message["content"], string>[number];

export function promptCopy(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.map((message) => messageCopy(message));
}

function messageCopy(message: LanguageModelV4Message): LanguageModelV4Message {
  switch (message.role) {
    case "system":
      return withOptions({ ...message });
    case "user":
      return withOptions({ ...message, content: message.content.map(partCopy) });
    case "assistant":
      return withOptions({ ...message, content: message.content.map(partCopy) });
    case "tool":
      return withOptions({ ...message, content: message.content.map(partCopy) });
  }
}

function partCopy<One extends Part>(part: One): One {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "tool-approval-response":
      return withOptions({ ...part });
    case "tool-call":
      return withOptions({ ...part, input: ownCopy(part.input) });
    case "tool-result": {
      const { output } = part;
      return withOptions({
        ...part,
        output: output.type === "text" ? withOptions({ ...output }) : ownCopy(output),
      });
    }
    default:
      return ownCopy(part);
  }
}

/** The given copy, with options of its own. */
function withOptions<Value extends { providerOptions?: Part["providerOptions"] }>(
  copy: Value,
): Value {
  if (copy.providerOptions !== undefined) copy.providerOptions = ownCopy(copy.providerOptions);
  return copy;
}

// The agent of a session's next request. It has the deferred tools that a search of the session has found.

export function loadedFor(agent: Agent, { items, open }: HistoryState): Agent {
  const searches = searchTools(agent);
  if (searches.length === 0) return agent;
  const found = new Set<string>();
  for (const item of open === undefined ? items : [...items, open]) {
    if (item.kind !== "step") continue;
    for (const part of item.parts) {
      if (part.kind !== "call" || !searches.includes(part.toolName)) continue;
      if (part.outcome.status !== "succeeded") continue;
      for (const name of foundBy(part.outcome.output)) found.add(name);
    }
  }
  return loadedAgent(agent, found);
}

// Claude with a thinking budget refuses a running tool loop whose first reply does not begin with its thinking:
// another model made the call, or thinking was off. One mode holds for a whole loop, so such a loop continues
// without thinking. With adaptive thinking there is no such rule.
// https://platform.claude.com/docs/en/build-with-claude/thinking-tool-workflows

type Settings = Pick<Agent, "providerOptions" | "reasoning">;

/** Claude up to 4.5 has no adaptive thinking: the AI SDK's `reasoning` is a budget there. */
const WITH_BUDGET = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:[.-][0-5])?(?![.-]?\d(?!\d{7})))/;

const warning: CallWarning = {
  type: "other",
  message:
    "Thinking is off for this step: Claude cannot begin to think within a turn whose calls were made without thinking.",
};

/** The settings that turn thinking off; none if it may stay as it is. */
export function thinkingSettings({ agent, messages }: StepRequest): Settings {
  const { model, providerOptions = {}, reasoning } = agent;
  const name = nameOf(model);
  if (modelFamily(name).name !== "anthropic" || !isInLoopWithoutThinking(messages)) return {};
  const options = Object.entries(providerOptions).map(
    ([provider, given]) => [provider, withoutBudget(given)] as const,
  );
  const isChanged = options.some(([provider, given]) => given !== providerOptions[provider]);
  const hasBudget =
    reasoning !== undefined &&
    reasoning !== "none" &&
    reasoning !== "provider-default" &&
    WITH_BUDGET.test(name.modelId);
  return {
    ...(isChanged ? { providerOptions: Object.fromEntries(options) } : {}),
    ...(hasBudget ? { reasoning: "none" } : {}),
  };
}

/** The provider's warnings, and that thinking is off. A recorded step that is played again has it already. */
export function stepWarnings(request: StepRequest, given: readonly unknown[] = []): unknown {
  if (Object.keys(thinkingSettings(request)).length === 0) return given;
  const text = JSON.stringify(warning);
  return given.some((one) => JSON.stringify(one) === text) ? given : [...given, warning];
}

const withBudget = z.looseObject({ type: z.literal("enabled") });

/** Of Anthropic's own interface, and of Bedrock's. */
function withoutBudget(options: JSONObject): JSONObject {
  const settings = ["thinking", "reasoningConfig"].filter(
    (setting) => withBudget.safeParse(options[setting]).success,
  );
  if (settings.length === 0) return options;
  return { ...options, ...Object.fromEntries(settings.map((one) => [one, { type: "disabled" }])) };
}

/** Whether the newest reply has calls, and the first one since the message before does not begin with thinking. */
function isInLoopWithoutThinking(messages: readonly ModelMessage[]): boolean {
  const newest = messages.findLastIndex(({ role }) => role === "assistant");
  if (messages[newest + 1]?.role !== "tool") return false;
  const before = messages.findLastIndex(
    ({ role }, index) => index < newest && role !== "assistant" && role !== "tool",
  );
  const first = messages[before + 1];
  if (first?.role !== "assistant" || typeof first.content === "string") return true;
  // Its client puts a report that the reply began before all that it sends.
  const part = first.content.find(({ type }) => type !== "custom");
  if (part?.type !== "reasoning") return true;
  return !Object.values(part.providerOptions ?? {}).some(
    (own) => "signature" in own || "redactedData" in own,
  );
}
