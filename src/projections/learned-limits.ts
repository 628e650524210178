/** What providers have said themselves of how much their models take: in errors, and by what they took. */

import { z } from "zod";
import { byIdSchema, type StoredError } from "../events/index.ts";
import { modelKey } from "./calibration.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** What sessions have shown of the limits of models. */
export interface LearnedLimits {
  /** Context windows in tokens, by `modelKey`. */
  readonly windows: Readonly<Record<string, number>>;
  /** The largest prompt that was billed, by `modelKey`: the window is at least that. */
  readonly largest: Readonly<Record<string, number>>;
  /** The model of the step that runs. */
  readonly model?: string;
}

function refused(state: LearnedLimits, error: StoredError | undefined): LearnedLimits {
  if (state.model === undefined || error === undefined) return state;
  const contextWindow = overflowOf(error)?.contextWindow;
  if (contextWindow === undefined || contextWindow === 0) return state;
  return { ...state, windows: { ...state.windows, [state.model]: contextWindow } };
}

/** Folds what errors and bills tell of the limits of models. */
export const learnedLimits: Projection<LearnedLimits> = defineProjection<LearnedLimits>({
  name: "learned-limits",
  version: 1,
  schema: z.object({
    windows: byIdSchema(z.number().positive()),
    largest: byIdSchema(z.number().positive()),
    model: z.string().exactOptional(),
  }),
  initial: { windows: {}, largest: {} },
  on: {
    "step.started": (state, { data }) => ({ ...state, model: modelKey(data.model) }),
    "step.retrying": (state, { data }) => refused(state, data.error),
    "step.failed": (state, { data }) => refused(state, data.error),
    "context.overflowed": (state, { data }) => refused(state, data.error),
    "step.finished": (state, { data: { usage } }) => {
      const { model, largest } = state;
      if (model === undefined || usage.basis !== "measured") return state;
      if (usage.inputTokens <= (largest[model] ?? 0)) return state;
      return { ...state, largest: { ...largest, [model]: usage.inputTokens } };
    },
  },
});

/** What an error tells that says a prompt is too long. */
export interface Overflow {
  /** Tokens that the model takes in all, where the error tells. */
  readonly contextWindow?: number;
  /** Tokens of the prompt, as the provider counted them. */
  readonly promptTokens?: number;
}

/** `window` and `prompt` are the groups of those names. */
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
  // llama.cpp: "the request exceeds the available context size"
  /exceeds the available context size/i,
  // Moonshot: "Your request exceeded model token limit: 131072 (requested: 140000)"
  /exceeded model token limit(?:: (?<window>\d+) \(requested: (?<prompt>\d+)\))?/i,
  // vLLM, Ollama and other servers that speak OpenAI's protocol, in words of their own.
  /input (?:token count|length).{0,80}?exceed/i,
  /exceeds? (?:the |its )?(?:maximum |available )?context(?: size| window| length)?/i,
  /too many input tokens/i,
  // The `code` of OpenAI and its likes.
  /context_length_exceeded|model_context_window_exceeded/,
];

/** What an error tells of a prompt that was too long; undefined for every other error. */
export function overflowOf(error: StoredError): Overflow | undefined {
  const said = texts(error);
  for (const pattern of patterns) {
    for (const text of said) {
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

/** `size` of the request, not of its text. */
const tooLarge: readonly RegExp[] = [
  // Anthropic: "Request exceeds the maximum size", of type request_too_large
  /request_too_large|request exceeds the maximum size/i,
  // Proxies and gateways: "Request Entity Too Large", "Maximum request body size 1048576 exceeded"
  /(?:entity|payload|content|body) too large|maximum request (?:body )?size/i,
  // Google: "Request payload size exceeds the limit: 20971520 bytes"
  /request payload size exceeds/i,
];

/** Whether an error says that a request has too many bytes. */
export function isTooLarge(error: StoredError): boolean {
  if (overflowOf(error) !== undefined) return false;
  const said = texts(error);
  return (
    error["statusCode"] === 413 ||
    tooLarge.some((pattern) => said.some((text) => pattern.test(text)))
  );
}

/** The provider's words may be in the message, the body of its answer, or an error beneath. */
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
