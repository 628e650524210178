/**
 * Classifies errors of providers: their kind, whether a retry may help, and when. Fields (status, type,
 * code, headers) come before text. Reads the stored form only, so that a replay decides as the live
 * session did. Pure.
 */

import { z } from "zod";
import {
  jsonObjectSchema,
  type FailureKind,
  type JsonValue,
  type StoredError,
  type FinishReason,
  parsedJson,
  isRecord,
} from "../../events/index.ts";
import { EMPTY_STOP, isTooLarge, overflowOf } from "../../projections/index.ts";
import type { StepOutput } from "../../agent/index.ts";

export interface ProviderFailure {
  readonly kind: FailureKind;
  readonly isRetryable: boolean;
  /** Milliseconds that the provider asks to wait; undefined if it does not ask. */
  readonly retryAfterMs: number | undefined;
}

const codeSchema = z.union([z.string(), z.number()]).optional().catch(undefined);

/**
 * The common fields of the SDK's `APICallError` and `StreamProviderError`; `value`: of its `TypeValidationError`, a
 * chunk that its client does not know.
 */
const errorSchema = z.lazy(() =>
  z.looseObject({
    name: z.string().catch(""),
    message: z.string().catch(""),
    statusCode: z.number().optional().catch(undefined),
    isRetryable: z.boolean().optional().catch(undefined),
    type: z.string().optional().catch(undefined),
    code: codeSchema,
    value: jsonObjectSchema.optional().catch(undefined),
    rawFinishReason: z.string().optional().catch(undefined),
    contentType: z.string().optional().catch(undefined),
    responseBody: z.string().optional().catch(undefined),
    responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
  }),
);

type ErrorFields = z.infer<typeof errorSchema>;

/** An error in a body or in a chunk of a stream: gateways name the status that they could not send any more. */
const saidSchema = z.lazy(() =>
  z.looseObject({
    code: codeSchema,
    error: z
      .union([
        z.looseObject({ code: codeSchema }),
        z.string().transform(() => ({ code: undefined })),
      ])
      .optional()
      .catch(undefined),
  }),
);

const retryable: Readonly<Record<FailureKind, boolean>> = {
  "rate-limit": true,
  overloaded: true,
  network: true,
  server: true,
  timeout: true,
  "invalid-request": false,
  authentication: false,
  quota: false,
  "content-filter": false,
  "context-overflow": false,
  "not-a-model": false,
  unknown: false,
};

/** A stream that ended without a finish reason: the connection broke. */
export const brokenStream: ProviderFailure = {
  kind: "network",
  isRetryable: retryable.network,
  retryAfterMs: undefined,
};

const quotaPatterns: readonly RegExp[] = [/insufficient_quota/, /exceeded your current quota/i];
/** Google says the same of the quota of a minute, with the time to wait. */
const minuteQuota = /RESOURCE_EXHAUSTED[^]*"retryDelay"/;
const dayQuota = /PerDay/;
/** Answers to a wrong key that come with 400 (xAI, Google), or in a stream, without a status. */
const keyPatterns: readonly RegExp[] = [
  /(incorrect|invalid)[ _-]?(x-)?api[ _-]?key/i,
  /api[ _-]?key[ _-](not valid|invalid|expired)/i,
  /authentication_error/,
];
const filterPatterns: readonly RegExp[] = [
  /content_filter/,
  /content_policy/,
  /prohibited_content/i,
];
const overloadPatterns: readonly RegExp[] = [/overloaded/i, /slow_down/, /model is overloaded/i];
const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
]);

export function providerFailure(error: StoredError, now: number): ProviderFailure {
  const fields = errorSchema.parse(error);
  const kind = kindOf(fields, error);
  return {
    kind,
    // A known kind decides; for others the SDK may know.
    isRetryable: kind === "unknown" ? fields.isRetryable === true : retryable[kind],
    retryAfterMs: retryAfterMs(fields.responseHeaders ?? {}, now) ?? retryDelayOf(fields),
  };
}

/** Whether the provider has no such model. Its kind is that of other invalid requests, as in every release. */
export function hasNoModel(error: StoredError): boolean {
  const fields = errorSchema.parse(error);
  const names = /model_not_found|DeploymentNotFound|model identifier/i;
  return statusOf(fields) === 404 || names.test(textOf(fields));
}

function kindOf(fields: ErrorFields, error: StoredError): FailureKind {
  const { name } = fields;
  const statusCode = statusOf(fields);
  const text = textOf(fields);
  const matches = (patterns: readonly RegExp[]): boolean => patterns.some((one) => one.test(text));
  if (name === "TimeoutError") return "timeout";
  if (name === EMPTY_REPLY) return emptyReplyKind(fields.contentType);
  if (name === BROKEN_REPLY) return fields.rawFinishReason === undefined ? "network" : "server";
  if (name === EMPTY_STOP) return "server";
  if (overflowOf(error) !== undefined || isTooLarge(error)) return "context-overflow";
  if (minuteQuota.test(text) && !dayQuota.test(text)) return "rate-limit";
  if (matches(quotaPatterns) || statusCode === 402) return "quota";
  if (matches(filterPatterns)) return "content-filter";
  if (statusCode === 429 || matches([/rate_limit/, /RESOURCE_EXHAUSTED/])) return "rate-limit";
  if (statusCode === 529 || statusCode === 503 || matches(overloadPatterns)) return "overloaded";
  if (statusCode === 401 || statusCode === 403 || name === "AI_LoadAPIKeyError") {
    return "authentication";
  }
  if ((statusCode ?? 0) <= 400 && matches(keyPatterns)) return "authentication";
  if (statusCode === 408 || statusCode === 409) return "server";
  if (statusCode !== undefined && statusCode >= 500) return "server";
  if (statusCode !== undefined && statusCode >= 400) return "invalid-request";
  // An error that came as a success.
  if (statusCode !== undefined || isOddChunk(fields)) return "server";
  if (isBrokenData(fields) || isNetworkError(error)) return "network";
  return "unknown";
}

function textOf({ type, code, message, responseBody, value }: ErrorFields): string {
  const chunk = value === undefined ? undefined : JSON.stringify(value);
  return [type, code, message, responseBody, chunk].join("\n");
}

/** The status of the answer; where that says success, or in a stream, the code that the error names. */
function statusOf(fields: ErrorFields): number | undefined {
  const { statusCode, code, responseBody = "", value } = fields;
  if (statusCode !== undefined && statusCode >= 400) return statusCode;
  const said = saidSchema.safeParse(value ?? parsedJson(responseBody)).data;
  const named = [code, said?.error?.code, said?.code].map(Number);
  return named.find((status) => status >= 400 && status < 600) ?? statusCode;
}

/** A chunk that no client can read: an error of a gateway, or a reply in another form. */
function isOddChunk({ message, value }: ErrorFields): boolean {
  // The message of Anthropic's client for an error that is not in Anthropic's format.
  return value !== undefined || message === "Expected a normalized Anthropic stream error";
}

/** A chunk that is cut or no JSON, or a stream whose client misses its end. */
function isBrokenData({ name, message }: ErrorFields): boolean {
  if (name === "AI_JSONParseError") return true;
  return name === "AI_InvalidResponseDataError" && message.includes("without a finish reason");
}

/** A connection that failed or broke: Node puts the code on the error or on one of its causes. */
function isNetworkError(error: StoredError): boolean {
  for (let cause: JsonValue | undefined = error; isRecord(cause); cause = cause["cause"]) {
    const { name, message, code } = cause;
    if (typeof code === "string" && networkCodes.has(code)) return true;
    if (name !== "TypeError" || typeof message !== "string") continue;
    if (/fetch failed|terminated|network/i.test(message)) return true;
  }
  return false;
}

/** From `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const seconds = Number.parseFloat(after);
  const delay = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now;
  return Number.isFinite(delay) ? Math.max(0, delay) : undefined;
}

/** Google's `RetryInfo` in the body of its answer. */
function retryDelayOf(fields: ErrorFields): number | undefined {
  const [, seconds] = /"retryDelay":\s*"([\d.]+)s"/.exec(textOf(fields)) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

const FIRST_DELAY_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;

/**
 * Milliseconds until the next attempt; undefined if a retry would not help. Doubles from 0.5 s to 30 s,
 * with up to a quarter of jitter. A provider's own delay takes precedence; one above `longest` means no retry.
 */
export function retryDelayMs(
  { isRetryable, retryAfterMs }: ProviderFailure,
  attempt: number,
  random: number,
  longest: number,
): number | undefined {
  if (!isRetryable) return undefined;
  if (retryAfterMs !== undefined) {
    return retryAfterMs <= longest ? Math.round(retryAfterMs) : undefined;
  }
  const backoff = Math.min(longest, LONGEST_BACKOFF_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return Math.round(backoff * (0.75 + random / 4));
}

// Decides whether a reply has an end: by the AI SDK's finish reason, and where that is unspecific (`other`), by the
// provider's own word. A reply without an end, or with an error as its end, is broken. Pure.

type End = Extract<StepOutput, { readonly kind: "end" }>;

/** The `name` of the error of a broken reply, live and in the log. */
const BROKEN_REPLY = "BrokenReplyError";

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
const EMPTY_REPLY = "EmptyReplyError";

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
