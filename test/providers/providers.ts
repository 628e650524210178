/** The providers that are played: their rules, how they stream, and how they say no. */

import type { WireFormat } from "../corpus/wire-manifest.ts";
import { anthropicRules } from "./anthropic-rules.ts";
import { bedrockRules } from "./bedrock-rules.ts";
import {
  chatRules,
  deepseekRules,
  groqRules,
  mistralRules,
  moonshotRules,
  openrouterRules,
  xaiRules,
} from "./chat-rules.ts";
import { googleRules } from "./google-rules.ts";
import { responsesRules } from "./responses-rules.ts";
import type { Rulebook } from "./rule.ts";

export type ProviderFormat = Extract<
  WireFormat,
  "anthropic" | "openai-responses" | "openai-chat" | "google" | "amazon-bedrock"
>;

export interface ProviderRow {
  readonly title: string;
  readonly format: ProviderFormat;
  readonly rulebook: Rulebook;
  /** The body of an answer of 400 with these words. */
  readonly refusal: (words: string) => object;
}

const openaiRefusal = (message: string): object => ({
  error: { message, type: "invalid_request_error", param: null, code: null },
});

const anthropicRefusal = (message: string): object => ({
  type: "error",
  error: { type: "invalid_request_error", message },
  request_id: "req_made_up",
});

const rows = {
  anthropic: {
    title: "Anthropic",
    format: "anthropic",
    rulebook: anthropicRules,
    refusal: anthropicRefusal,
  },
  openai: {
    title: "OpenAI, Responses",
    format: "openai-responses",
    rulebook: responsesRules,
    refusal: openaiRefusal,
  },
  "openai-chat": {
    title: "OpenAI, Chat Completions",
    format: "openai-chat",
    rulebook: chatRules,
    refusal: openaiRefusal,
  },
  google: {
    title: "Google",
    format: "google",
    rulebook: googleRules,
    refusal: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  },
  deepseek: {
    title: "DeepSeek",
    format: "openai-chat",
    rulebook: deepseekRules,
    refusal: (message) => ({
      error: {
        message,
        type: "invalid_request_error",
        param: null,
        code: "invalid_request_error",
      },
    }),
  },
  moonshot: {
    title: "Moonshot AI",
    format: "openai-chat",
    rulebook: moonshotRules,
    refusal: (message) => ({ error: { message, type: "invalid_request_error" } }),
  },
  xai: {
    title: "xAI",
    format: "openai-chat",
    rulebook: xaiRules,
    refusal: (error) => ({ code: "Client specified an invalid argument", error }),
  },
  groq: {
    title: "Groq",
    format: "openai-chat",
    rulebook: groqRules,
    refusal: (message) => ({ error: { message, type: "invalid_request_error" } }),
  },
  mistral: {
    title: "Mistral",
    format: "openai-chat",
    rulebook: mistralRules,
    refusal: (message) => ({
      object: "error",
      message,
      type: "invalid_request_error",
      param: null,
      code: null,
    }),
  },
  openrouter: {
    title: "OpenRouter, Claude behind it",
    format: "openai-chat",
    rulebook: openrouterRules,
    refusal: (message) => ({
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: { raw: JSON.stringify(anthropicRefusal(message)), provider_name: "Anthropic" },
      },
    }),
  },
  bedrock: {
    title: "Amazon Bedrock",
    format: "amazon-bedrock",
    rulebook: bedrockRules,
    refusal: (message) => ({ message }),
  },
} satisfies Record<string, ProviderRow>;

export type ProviderName = keyof typeof rows;
export const providers: Readonly<Record<ProviderName, ProviderRow>> = rows;
export const providerNames: readonly ProviderName[] = Object.keys(rows) as ProviderName[];
