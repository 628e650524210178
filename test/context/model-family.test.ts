/** What estimates depend on, by family: a model is known by its own name first, since gateways serve many makers. */

import { expect, it } from "vitest";
import { modelFamily } from "../../src/context/model-family.ts";

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
  ["acme", "llama-4", "other"],
  ["acme", "solo1", "other"],
  ["my-openai", "llama-4", "other"],
])("%s with %s is of the family %s", (provider, modelId, name) => {
  expect(modelFamily({ provider, modelId }).name).toBe(name);
});

it("only Claude has another tokenizer and reads ids, and only some drop old reasoning", () => {
  const of = (provider: string): readonly unknown[] => {
    const { factor, perMessage, perResult, readsCallIds, dropsOldReasoning } = modelFamily({
      provider,
      modelId: "m",
    });
    return [factor, perMessage, perResult, readsCallIds, dropsOldReasoning];
  };
  // Chat format: four tokens around a message. Results name their function, or the id of their call.
  expect(of("openai")).toEqual([1, 4, 5, false, true]);
  expect(of("anthropic")).toEqual([1.2, 4, 10, true, true]);
  expect(of("google")).toEqual([1, 4, 8, false, false]);
  expect(of("deepseek")).toEqual([1, 4, 10, false, false]);
  expect(of("acme")).toEqual([1, 4, 8, false, false]);
});
