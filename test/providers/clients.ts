/** The real client of each provider, asking a URL of ours. */

import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogle } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createMoonshotAI } from "@ai-sdk/moonshotai";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createXai } from "@ai-sdk/xai";
import type { ProviderName } from "./providers.ts";

export interface ClientOptions {
  /** Default: a current model whose rules are the strictest. */
  readonly modelId?: string | undefined;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

/** @param url - An origin */
export function clientOf(
  provider: ProviderName,
  url: string,
  { modelId, fetch }: ClientOptions = {},
): LanguageModelV4 {
  const given = { apiKey: "secret", ...(fetch === undefined ? {} : { fetch }) };
  const at = { ...given, baseURL: `${url}/v1` };
  switch (provider) {
    case "anthropic":
      return createAnthropic(at)(modelId ?? "claude-sonnet-4-5");
    case "openai":
      return createOpenAI(at).responses(modelId ?? "gpt-5.1");
    case "openai-chat":
      return createOpenAI(at).chat(modelId ?? "gpt-4.1");
    case "google":
      return createGoogle({ ...given, baseURL: `${url}/v1beta` })(
        modelId ?? "gemini-3-pro-preview",
      );
    case "deepseek":
      return createDeepSeek(at)(modelId ?? "deepseek-v4-pro");
    case "moonshot":
      return createMoonshotAI(at)(modelId ?? "kimi-k2.5");
    case "xai":
      return createXai(at).chat(modelId ?? "grok-4");
    case "groq":
      return createGroq(at)(modelId ?? "openai/gpt-oss-120b");
    case "mistral":
      return createMistral(at)(modelId ?? "mistral-large-latest");
    case "openrouter":
      return createOpenAICompatible({ ...at, name: "openrouter", includeUsage: true }).chatModel(
        modelId ?? "anthropic/claude-sonnet-4.5",
      );
    case "bedrock":
      return createAmazonBedrock({ ...given, region: "nowhere", baseURL: url })(
        modelId ?? "anthropic.claude-sonnet-4-5-20250929-v1:0",
      );
  }
}
