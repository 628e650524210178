/** Errors of providers: each is told apart by what the provider said, not by how the SDK wrapped it. */

import { APICallError, JSONParseError, TypeValidationError } from "ai";
import { describe, expect, it } from "vitest";
import { toStoredError } from "../../src/shared/index.ts";
import { providerFailure } from "../../src/runtime/model/provider-failure.ts";

const NOW = Date.UTC(2026, 0, 1);

function refused(
  statusCode: number | undefined,
  {
    message = "Refused.",
    body = "",
    headers = {},
  }: Readonly<{ message?: string; body?: string; headers?: Record<string, string> }> = {},
): APICallError {
  return new APICallError({
    message,
    url: "http://provider.invalid",
    requestBodyValues: {},
    responseBody: body,
    responseHeaders: headers,
    ...(statusCode === undefined ? {} : { statusCode }),
  });
}

/** Google's answer to too many requests: of a minute, or of a day. */
function google(period: string): string {
  return JSON.stringify({
    error: {
      code: 429,
      message: "You exceeded your current quota. Please retry in 48.9s.",
      status: "RESOURCE_EXHAUSTED",
      details: [
        { violations: [{ quotaId: `GenerateRequests${period}PerProject` }] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "48s" },
      ],
    },
  });
}

describe("an error of a provider", () => {
  it.each([
    [refused(429), "rate-limit", true],
    [refused(429, { body: '{"error":{"code":"insufficient_quota"}}' }), "quota", false],
    [refused(529), "overloaded", true],
    [refused(503), "overloaded", true],
    [refused(500), "server", true],
    [refused(504), "server", true],
    [refused(408), "server", true],
    [refused(401), "authentication", false],
    [refused(403), "authentication", false],
    [refused(400), "invalid-request", false],
    [refused(404), "invalid-request", false],
    [
      refused(400, { body: '{"error":{"code":"context_length_exceeded"}}' }),
      "context-overflow",
      false,
    ],
    [
      refused(400, { message: "prompt is too long: 210000 tokens > 200000 maximum" }),
      "context-overflow",
      false,
    ],
    [
      refused(400, {
        message:
          "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      }),
      "context-overflow",
      false,
    ],
    [refused(413), "context-overflow", false],
    [refused(400, { body: '{"error":{"code":"content_filter"}}' }), "content-filter", false],
    [{ type: "overloaded_error", message: "Overloaded" }, "overloaded", true],
    [{ code: "rate_limit_exceeded", message: "Slow." }, "rate-limit", true],
    [
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }),
      }),
      "network",
      true,
    ],
    [new TypeError("terminated"), "network", true],
    [Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), "network", true],
    [new DOMException("It took too long.", "TimeoutError"), "timeout", true],
    [
      refused(400, {
        message: "Incorrect API key provided. You can obtain an API key from https://console.x.ai.",
        body: '{"code":"invalid-argument","error":"Incorrect API key provided. You can obtain …"}',
      }),
      "authentication",
      false,
    ],
    [
      refused(400, {
        message: "API key not valid. Please pass a valid API key.",
        body: '{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}',
      }),
      "authentication",
      false,
    ],
    [
      refused(400, { message: "API key expired. Please renew the API key." }),
      "authentication",
      false,
    ],
    [{ type: "authentication_error", message: "invalid x-api-key" }, "authentication", false],
    [
      refused(400, { message: "Invalid value for `api`: the key `a` is unknown." }),
      "invalid-request",
      false,
    ],
    [refused(200, { body: '{"error":{"code":502,"message":"Bad gateway"}}' }), "server", true],
    [refused(200, { body: '{"error":{"code":429}}' }), "rate-limit", true],
    [refused(200, { body: '{"error":{"code":"401"}}' }), "authentication", false],
    [
      refused(200, { body: '{"code":"unavailable","error":"The service is down."}' }),
      "server",
      true,
    ],
    [{ code: 502, message: "Provider disconnected." }, "server", true],
    [{ code: 400, message: "Wrong." }, "invalid-request", false],
    [
      new TypeValidationError({ value: { error: { code: 503 } }, cause: new Error("No chunk.") }),
      "overloaded",
      true,
    ],
    [
      new TypeValidationError({ value: { object: "error", message: "x" }, cause: undefined }),
      "server",
      true,
    ],
    [new TypeValidationError({ value: { id: 3 }, cause: undefined }), "server", true],
    [new JSONParseError({ text: '{"id":', cause: new Error("The end.") }), "network", true],
    [refused(429, { body: google("PerMinute") }), "rate-limit", true],
    [refused(429, { body: google("PerDay") }), "quota", false],
    [new Error("Something else."), "unknown", false],
    ["a bare text", "unknown", false],
    [undefined, "unknown", false],
  ] as const)("%s is of the kind %s", (error, kind, isRetryable) => {
    expect(providerFailure(toStoredError(error), NOW)).toMatchObject({ kind, isRetryable });
  });

  it("tells how long the provider wants to be left alone, in whichever way it says so", () => {
    const after = (headers: Record<string, string>): number | undefined =>
      providerFailure(toStoredError(refused(429, { headers })), NOW).retryAfterMs;
    expect(after({ "retry-after-ms": "1500" })).toBe(1500);
    expect(after({ "retry-after": "2" })).toBe(2000);
    expect(after({ "retry-after": new Date(NOW + 7000).toUTCString() })).toBe(7000);
    expect(after({ "retry-after": new Date(NOW - 7000).toUTCString() })).toBe(0);
    expect(after({ "retry-after": "soon" })).toBeUndefined();
    expect(after({})).toBeUndefined();
    const body = google("PerMinute");
    const stored = toStoredError(refused(429, { body }));
    expect(providerFailure(stored, NOW).retryAfterMs).toBe(48_000);
  });

  it("trusts the SDK about an error of a kind that we do not know", () => {
    expect(
      providerFailure(toStoredError({ message: "odd", isRetryable: true }), NOW),
    ).toMatchObject({
      kind: "unknown",
      isRetryable: true,
    });
  });
});
