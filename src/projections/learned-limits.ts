/** What providers reveal about the limits of their models: in errors, and by the prompts that they accepted. */

import { z } from "zod";
import { byIdSchema, type StoredError } from "../events/index.ts";
import { modelKey } from "./calibration.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface LearnedLimits {
  /** Context windows in tokens, by `modelKey`. */
  readonly windows: Readonly<Record<string, number>>;
  /** The largest billed prompt, by `modelKey`: the window is at least that. */
  readonly largest: Readonly<Record<string, number>>;
  /** The model of the running step. */
  readonly model?: string;
}

function withWindow(state: LearnedLimits, error: StoredError | undefined): LearnedLimits {
  if (state.model === undefined || error === undefined) return state;
  const contextWindow = overflowOf(error)?.contextWindow;
  if (contextWindow === undefined || contextWindow === 0) return state;
  return { ...state, windows: { ...state.windows, [state.model]: contextWindow } };
}

export const learnedLimits: Projection<LearnedLimits> = defineProjection<LearnedLimits>({
  name: "learned-limits",
  version: 1,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      windows: byIdSchema(z.number().positive()),
      largest: byIdSchema(z.number().positive()),
      model: z.string().exactOptional(),
    }),
  ),
  initial: { windows: {}, largest: {} },
  on: {
    "step.started": (state, { data }) => ({ ...state, model: modelKey(data.model) }),
    "step.retrying": (state, { data }) => withWindow(state, data.error),
    "step.failed": (state, { data }) => withWindow(state, data.error),
    "context.overflowed": (state, { data }) => withWindow(state, data.error),
    "step.finished": (state, { data: { usage } }) => {
      const { model, largest } = state;
      if (model === undefined || usage.basis !== "measured") return state;
      if (usage.inputTokens <= (largest[model] ?? 0)) return state;
      return { ...state, largest: { ...largest, [model]: usage.inputTokens } };
    },
  },
});

/** The figures in an error about a prompt that was too long. */
export interface Overflow {
  readonly contextWindow?: number;
  /** Tokens of the prompt, counted by the provider. */
  readonly promptTokens?: number;
}

/** Each is one provider's wording of "too long", with groups `window` and `prompt`, and an example. */
const patterns: readonly RegExp[] = [
  // Anthropic: "prompt is too long: 213462 tokens > 200000 maximum"
  /prompt is too long(?:: (?<prompt>\d+) tokens > (?<window>\d+) maximum)?/i,
  // Anthropic: "input length and `max_tokens` exceed context limit: 198309 + 8192 > 200000"
  /exceed context limit: (?<prompt>\d+) \+ \d+ > (?<window>\d+)/i,
  // OpenAI, DeepSeek, OpenRouter: "maximum context length is 128000 tokens. However, your messages
  // resulted in 130001 tokens", "… However, you requested about 1293741 tokens"
  /maximum context length is (?<window>\d+) tokens(?:.{0,80}?(?:resulted in|requested)(?: about)? (?<prompt>\d+) tokens)?/is,
  // OpenAI (responses): "Your input exceeds the context window of this model"
  /exceeds the context window/i,
  // Google: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)"
  /input token count (?:\((?<prompt>\d+)\) )?exceeds the maximum(?: number of tokens allowed \((?<window>\d+)\))?/i,
  // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens"
  /maximum prompt length is (?<window>\d+) but the request contains (?<prompt>\d+) tokens/i,
  // Mistral: "Prompt contains 65673 tokens … too large for model with 32768 maximum context length"
  /contains (?<prompt>\d+) tokens.{0,80}?too large for model with (?<window>\d+) maximum context length/is,
  // Amazon Bedrock: "Input is too long for requested model"
  /input is too long for requested model/i,
  // Groq: "Please reduce the length of the messages or completion"
  /reduce the length of the messages/i,
  // Cohere: "too many tokens: total number of tokens in the prompt cannot exceed 128000"
  /too many tokens: .{0,80}?cannot exceed (?<window>\d+)/is,
  // Cohere: "too many tokens: size limit exceeded by 25836 tokens … The limit for this model is 288000 tokens"
  /too many tokens: size limit exceeded(?:.{0,120}?limit for this model is (?<window>\d+) tokens)?/is,
  // Perplexity: "The total length of all messages is too long.", of the type "too_many_prompt_tokens"
  /total length of all messages is too long/i,
  // llama.cpp: "the request exceeds the available context size"
  /exceeds the available context size/i,
  // Moonshot: "Your request exceeded model token limit: 131072 (requested: 140000)"
  /exceeded model token limit(?:: (?<window>\d+) \(requested: (?<prompt>\d+)\))?/i,
  // vLLM, Ollama and other servers with OpenAI's protocol.
  /input (?:token count|length).{0,80}?exceed/i,
  /exceeds? (?:the |its )?(?:maximum |available )?context(?: size| window| length)?/i,
  /too many input tokens/i,
  // The `code` of OpenAI and compatible providers.
  /context_length_exceeded|model_context_window_exceeded/,
];

/** The figures of an error about a prompt that was too long; undefined for other errors. */
export function overflowOf(error: StoredError): Overflow | undefined {
  const found = texts(error);
  for (const pattern of patterns) {
    for (const text of found) {
      const groups = pattern.exec(text)?.groups ?? (pattern.test(text) ? {} : undefined);
      if (groups === undefined) continue;
      const { window, prompt } = groups;
      return {
        ...(window === undefined ? {} : { contextWindow: Number(window) }),
        ...(prompt === undefined ? {} : { promptTokens: Number(prompt) }),
      };
    }
  }
  return undefined;
}

/** Errors about the bytes of a request, not its tokens. */
const tooLarge: readonly RegExp[] = [
  // Anthropic: "Request exceeds the maximum size", of type request_too_large
  /request_too_large|request exceeds the maximum size/i,
  // Proxies and gateways: "Request Entity Too Large", "Maximum request body size 1048576 exceeded"
  /(?:entity|payload|content|body) too large|maximum request (?:body )?size/i,
  // Google: "Request payload size exceeds the limit: 20971520 bytes"
  /request payload size exceeds/i,
];

export function isTooLarge(error: StoredError): boolean {
  if (overflowOf(error) !== undefined) return false;
  const found = texts(error);
  return (
    error["statusCode"] === 413 ||
    tooLarge.some((pattern) => found.some((text) => pattern.test(text)))
  );
}

/** All texts of an error: the provider's may be in the message, the response body or a cause. */
function texts(error: StoredError): readonly string[] {
  const { message, responseBody, code, type, cause } = error;
  const own = [message, responseBody, code, type].filter((value) => typeof value === "string");
  return isError(cause) ? [...own, ...texts(cause)] : own;
}

function isError(value: unknown): value is StoredError {
  return (
    typeof value === "object" &&
    value !== null &&
    "message" in value &&
    typeof value.message === "string" &&
    "name" in value
  );
}
