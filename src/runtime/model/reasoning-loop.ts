/**
 * Claude with a thinking budget refuses a running tool loop whose first reply does not begin with its thinking:
 * another model made the call, or thinking was off. One mode holds for a whole loop, so such a loop continues
 * without thinking. With adaptive thinking there is no such rule.
 * https://platform.claude.com/docs/en/build-with-claude/thinking-tool-workflows
 */

import type { JSONObject } from "@ai-sdk/provider";
import type { CallWarning, ModelMessage } from "ai";
import { z } from "zod";
import { modelFamily } from "../../context/index.ts";
import { type Agent, nameOf, type StepRequest } from "../../agent/index.ts";

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
