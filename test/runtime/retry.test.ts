/** Whether and when a refused call is tried again. */

import { APICallError } from "ai";
import { describe, expect, it } from "vitest";
import { retryDelayMs } from "../../src/runtime/retry.ts";

function refusal(responseHeaders: Record<string, string> = {}, isRetryable = true): APICallError {
  const url = "https://provider.invalid";
  return new APICallError({
    message: "No.",
    url,
    requestBodyValues: {},
    responseHeaders,
    isRetryable,
  });
}

const now = Date.UTC(2026, 0, 1, 12);
const calm = { now, random: 1 };

describe("the wait before the next attempt", () => {
  it("doubles from half a second to half a minute, and is up to a quarter shorter by chance", () => {
    const attempts = [1, 2, 3, 4, 7, 8, 100];
    expect(attempts.map((attempt) => retryDelayMs(refusal(), attempt, calm))).toEqual([
      500, 1000, 2000, 4000, 30_000, 30_000, 30_000,
    ]);
    expect(retryDelayMs(refusal(), 1, { now, random: 0 })).toBe(375);
  });

  it.each([
    ["milliseconds", { "retry-after-ms": "120" }, 120],
    ["seconds", { "retry-after": "7" }, 7000],
    ["parts of a second", { "retry-after": "0.25" }, 250],
    ["a date", { "retry-after": new Date(now + 9000).toUTCString() }, 9000],
    ["a date that is past", { "retry-after": new Date(now - 9000).toUTCString() }, 0],
    ["both, the finer one first", { "retry-after-ms": "5", "retry-after": "9" }, 5],
  ])("is what the provider asks for in %s", (_, headers, delay) => {
    expect(retryDelayMs(refusal(headers), 1, calm)).toBe(delay);
  });

  it.each([
    ["longer than anybody waits", { "retry-after": "3600" }],
    ["no time at all", { "retry-after": "soon" }],
  ])("is our own when the provider asks for %s", (_, headers) => {
    expect(retryDelayMs(refusal(headers), 1, calm)).toBe(500);
  });

  it.each([
    ["the provider's last word", refusal({}, false)],
    ["not the provider's", new Error("overloaded")],
    ["no error at all", "overloaded"],
  ])("never ends when the error is %s: it is not tried again", (_, error) => {
    expect(retryDelayMs(error, 1, calm)).toBeUndefined();
  });
});
