/**
 * Tells whether a reply has an end: by the AI SDK's finish reason, and where that says nothing (`other`), by
 * the provider's own word. A reply without an end, or with an error as its end, is broken. Pure.
 */

import type { FinishReason } from "../../events/index.ts";
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
  // A client begins with `other` and keeps it if the provider says nothing.
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
    `The provider ended the reply with the reason "${word}": it is not a whole answer.`,
    word,
  );
}

function brokenReply(message: string, rawFinishReason?: string): Error {
  return named(
    BROKEN_REPLY,
    Object.assign(new Error(message), rawFinishReason === undefined ? {} : { rawFinishReason }),
  );
}

/** The error of a reply that ended as it should and says nothing: the model is asked once more. */
export function emptyStop(): Error {
  return named(EMPTY_STOP, new Error("The model ended its reply without saying anything."));
}

function named(name: string, error: Error): Error {
  return Object.defineProperty(error, "name", { value: name, configurable: true });
}
