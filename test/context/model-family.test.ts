/** What estimates depend on, by family: a model is known by its own name first, since gateways serve many makers. */

import { expect, it } from "vitest";
import { modelFamily } from "../../src/context/models/model-family.ts";
import { modelTokenizer } from "../../src/context/estimate/token-estimator.ts";

it.each([
  ["openai.responses", "gpt-5", "openai"],
  ["azure", "my-deployment", "openai"],
  ["gateway", "openai/o3-mini", "openai"],
  ["gateway", "chatgpt-4o-latest", "openai"],
  ["gateway", "codex-mini", "openai"],
  ["anthropic.messages", "anything", "anthropic"],
  ["amazon-bedrock", "us.anthropic.claude-opus-5", "anthropic"],
  ["openai", "claude-opus-5", "anthropic"],
  ["google.generative-ai", "anything", "google"],
  ["gateway", "google/gemma-3", "google"],
  ["deepseek", "anything", "deepseek"],
  ["azure", "DeepSeek-V3", "deepseek"],
  ["xai.chat", "anything", "xai"],
  ["openrouter", "x-ai/grok-4", "xai"],
  ["azure", "grok-4-fast-reasoning", "xai"],
  ["zai.chat", "anything", "zai"],
  ["gateway", "zai/glm-4.6", "zai"],
  ["cerebras.chat", "zai-glm-4.7", "zai"],
  ["google.vertex.chat", "gemini-3-pro-preview", "google"],
  ["google.vertex.anthropic.messages", "claude-opus-4-6", "anthropic"],
  ["openrouter", "google/gemini-2.5-pro", "google"],
  ["mistral.chat", "anything", "mistral"],
  ["openrouter", "mistralai/devstral-small", "mistral"],
  ["acme", "llama-4", "other"],
  ["acme", "solo1", "other"],
  ["my-openai", "llama-4", "other"],
])("%s with %s is of the family %s", (provider, modelId, name) => {
  expect(modelFamily({ provider, modelId }).name).toBe(name);
});

it("only Claude reads ids, and OpenAI bills what opens a reply", () => {
  const of = (provider: string): readonly unknown[] => {
    const found = modelFamily({ provider, modelId: "m" });
    const { perMessage, perResult, perReply, readsCallIds } = found;
    return [perMessage, perResult, perReply, readsCallIds];
  };
  // Chat format: four tokens around a message, three that open a reply.
  expect(of("openai")).toEqual([4, 2, 3, false]);
  expect(of("anthropic")).toEqual([3, 9, 0, true]);
  // No tokens around a message; a result is an object that names its function.
  expect(of("google")).toEqual([0, 15, 0, false]);
  expect(of("deepseek")).toEqual([4, 11, 0, false]);
  expect(of("acme")).toEqual([4, 8, 0, false]);
});

it.each([
  ["gpt-5", "shown", "none"],
  ["openai/gpt-oss-120b", "shown", "none"],
  // Kept since Opus 4.5 and Sonnet 4.6, by no Haiku.
  ["claude-3-7-sonnet-20250219", "shown", "none"],
  ["claude-opus-4-20250514", "shown", "none"],
  ["claude-opus-4@20250514", "shown", "none"],
  ["us.anthropic.claude-opus-4-1-20250805-v1:0", "shown", "none"],
  ["claude-opus-4-5-20251101", "shown", "all"],
  ["anthropic/claude-opus-4.6", "shown", "all"],
  ["claude-sonnet-4-20250514", "shown", "none"],
  ["claude-sonnet-4-5", "shown", "none"],
  ["anthropic/claude-sonnet-4.6", "shown", "all"],
  ["claude-sonnet-5", "shown", "all"],
  ["claude-haiku-4-5", "shown", "none"],
  ["gemini-2.5-pro", "text", "text"],
  ["google/gemini-3-pro-preview", "signed", "text"],
  ["gemini-3.1-pro-preview", "signed", "text"],
  ["gemini-3.5-flash", "signed", "all"],
  ["grok-3-mini", "none", "none"],
  ["grok-4-fast-reasoning", "all", "none"],
  ["grok-code-fast-1", "all", "none"],
  ["deepseek-reasoner", "shown", "none"],
  ["deepseek-v4-pro", "shown", "all"],
  ["glm-4.7", "shown", "none"],
  ["kimi-k2-thinking", "shown", "all"],
])(
  "%s bills reasoning that is %s in its turn, and %s of it afterwards",
  (modelId, inTurn, afterTurn) => {
    expect(modelFamily({ provider: "gateway", modelId }).reasoning).toEqual({ inTurn, afterTurn });
  },
);

it.each([
  // "Tool use", platform.claude.com: auto and none, any and tool.
  ["claude-3-5-haiku-20241022", 1.1, 264, 340],
  ["claude-3-7-sonnet-20250219", 1.1, 346, 313],
  ["claude-opus-4-20250514", 1.1, 313, 315],
  ["claude-sonnet-4@20250514", 1.1, 313, 315],
  ["us.anthropic.claude-opus-4-1-20250805-v1:0", 1.1, 313, 315],
  ["claude-haiku-4-5", 1.1, 496, 588],
  ["anthropic/claude-sonnet-4.5", 1.1, 496, 588],
  ["claude-opus-4-6", 1.1, 496, 588],
  ["claude-opus-4-7", 1.43, 675, 804],
  ["claude-opus-4-8", 1.43, 290, 410],
  ["claude-sonnet-5", 1.43, 354, 474],
  ["claude-sonnet-5-20260203", 1.43, 354, 474],
  ["claude-sonnet-5-5", 1.43, 290, 410],
  ["claude-opus-5", 1.43, 290, 410],
])(
  "%s has a factor of %d and a preamble of %d tokens about tools, or %d",
  (modelId, factor, preamble, forced) => {
    const model = { provider: "gateway", modelId };
    expect(modelTokenizer(model).factor).toBeCloseTo(factor);
    expect(modelFamily(model).tools).toMatchObject({ preamble, forced });
  },
);
