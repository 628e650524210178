/**
 * Decides whether a reply has an end: by the AI SDK's finish reason, and where that is unspecific (`other`), by
 * the provider's own word. A reply without an end, or with an error as its end, is broken. Pure.
 */

import type { FinishReason, FailureKind } from "../../events/index.ts";
import { EMPTY_STOP } from "../../projections/index.ts";
import type { StepOutput } from "../../agent/index.ts";

type End = Extract<StepOutput, { readonly kind: "end" }>;

/** The `name` of the error of a broken reply, live and in the log. */
export const BROKEN_REPLY = "BrokenReplyError";

/**
 * Words of providers that the SDK's clients report as `other`, in small letters. A word that is not here is a
 * broken reply, as `error` (OpenRouter, Mistral, Cohere), `insufficient_system_resource` (DeepSeek),
 * `network_error` (Z.ai), `abort` (vLLM, SGLang), `malformed_model_output` and `malformed_tool_use` (Bedrock), and
 * Google's `MALFORMED_FUNCTION_CALL`, `MALFORMED_RESPONSE`, `UNEXPECTED_TOOL_CALL`, `TOO_MANY_TOOL_CALLS`,
 * `MISSING_THOUGHT_SIGNATURE`, `NO_IMAGE`, `IMAGE_OTHER` and `OTHER` are. docs/errors.md has the table with sources.
 */
const words: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  complete: "stop",
  completed: "stop",
  eos: "stop",
  eos_token: "stop",
  compaction: "stop",
  max_tokens: "length",
  max_output_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  content_filter: "content-filter",
  content_filtered: "content-filter",
  guardrail_intervened: "content-filter",
  refusal: "content-filter",
  sensitive: "content-filter",
  safety: "content-filter",
  recitation: "content-filter",
  language: "content-filter",
  blocklist: "content-filter",
  prohibited_content: "content-filter",
  spii: "content-filter",
  model_armor: "content-filter",
  image_safety: "content-filter",
  image_recitation: "content-filter",
  image_prohibited_content: "content-filter",
};

/** The end as the provider meant it; an error if the reply is broken. */
export function replyEnd(end: End | undefined): End | Error {
  if (end === undefined || end.finishReason === "interrupted") return cutOff();
  const { finishReason, rawFinishReason: word } = end;
  if (finishReason === "error") return failed(word ?? "error");
  if (finishReason !== "other") return end;
  // A client begins with `other` and keeps it if the provider sends no reason.
  if (word === undefined) return cutOff();
  const meant = Object.entries(words).find(([known]) => known === word.toLowerCase());
  return meant === undefined ? failed(word) : { ...end, finishReason: meant[1] };
}

function cutOff(): Error {
  return brokenReply(
    "The provider's stream ended without a finish reason: the reply may be incomplete.",
  );
}

function failed(word: string): Error {
  return brokenReply(
    `The provider ended the reply with the reason "${word}": the answer is incomplete.`,
    word,
  );
}

function brokenReply(message: string, rawFinishReason?: string): Error {
  return named(
    BROKEN_REPLY,
    Object.assign(new Error(message), rawFinishReason === undefined ? {} : { rawFinishReason }),
  );
}

/** The error of a reply that ended properly but is empty, so that the model is called again. */
export function emptyStop(): Error {
  return named(EMPTY_STOP, new Error("The model ended its reply without any content."));
}

function named(name: string, error: Error): Error {
  return Object.defineProperty(error, "name", { value: name, configurable: true });
}

// Detects responses that are not a model's reply: a proxy's page, a wrong address, a stream that ends
// before it begins. The AI SDK's clients report those as empty replies. Pure.

type EmptyEnd = Extract<StepOutput, { readonly kind: "end" }>;

/** The `name` of the error, live and in the log. */
export const EMPTY_REPLY = "EmptyReplyError";

/** Content types that no provider sends. */
const notAModel = /^(text\/(html|xml|css)|application\/([\w.-]+\+)?xml|image\/)/i;
/** An error that came with the status of a success, as gateways send it. */
const notAStream = /^application\/([\w.-]+\+)?json/i;

/** What failed when nothing of the response was a reply. An unknown type may be a model's stream. */
export function emptyReplyKind(contentType = ""): FailureKind {
  if (notAStream.test(contentType)) return "server";
  return notAModel.test(contentType) ? "not-a-model" : "network";
}

/** The error of an empty response; undefined for a real reply, which has a finish reason or usage. */
export function emptyReply(
  end: EmptyEnd | undefined,
  contentType: string | undefined,
): Error | undefined {
  const isReported = end?.rawFinishReason !== undefined || end?.usage !== undefined;
  const isMadeUp = end?.finishReason === "interrupted" || end?.finishReason === "other";
  const kind = emptyReplyKind(contentType);
  // A stream that breaks off is another error.
  if (end === undefined ? kind === "network" : isReported || !isMadeUp) return undefined;
  const message =
    kind === "not-a-model"
      ? `The server answered with ${contentType} instead of a model's stream, and none of it is a reply: this is not the provider, or not its right address. Check the base URL of the model (OPENAI_BASE_URL or the like), and whether a proxy asks for a login.`
      : kind === "server"
        ? `The server answered with ${contentType} instead of a model's stream, as a gateway does when its provider failed. Try again; if the error remains, check the base URL of the model.`
        : `The provider's stream ended without a word and without a finish reason${contentType === undefined ? "" : ` (${contentType})`}. Try again; if it stays so, check the base URL of the model and what stands between.`;
  return Object.defineProperty(
    Object.assign(new Error(message), contentType === undefined ? {} : { contentType }),
    "name",
    { value: EMPTY_REPLY, configurable: true },
  );
}
