/**
 * Classifies errors of providers: their kind, whether a retry may help, and when. Fields (status, type,
 * code, headers) come before text. Reads the stored form only, so that a replay decides as the live
 * session did. Pure.
 */

import { z } from "zod";
import {
  jsonObjectSchema,
  type FailureKind,
  type JsonObject,
  type JsonValue,
  type StoredError,
} from "../../events/index.ts";
import { EMPTY_STOP, isTooLarge, overflowOf } from "../../projections/index.ts";
import { EMPTY_REPLY, emptyReplyKind, BROKEN_REPLY } from "./reply-end.ts";

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
  const said = saidSchema.safeParse(value ?? parsedBody(responseBody)).data;
  const named = [code, said?.error?.code, said?.code].map(Number);
  return named.find((status) => status >= 400 && status < 600) ?? statusCode;
}

function parsedBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
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
  for (let cause: JsonValue | undefined = error; isObject(cause); cause = cause["cause"]) {
    const { name, message, code } = cause;
    if (typeof code === "string" && networkCodes.has(code)) return true;
    if (name !== "TypeError" || typeof message !== "string") continue;
    if (/fetch failed|terminated|network/i.test(message)) return true;
  }
  return false;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return jsonObjectSchema.safeParse(value).success;
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
