/** Whether and when a call that failed is tried again. */

import { describe, expect, it } from "vitest";
import { type ProviderFailure, retryDelayMs } from "../../src/runtime/model/provider-failure.ts";

function failure(retryAfterMs?: number, isRetryable = true): ProviderFailure {
  return { kind: "overloaded", isRetryable, retryAfterMs };
}

describe("the wait before the next attempt", () => {
  it("doubles from half a second to half a minute, and is up to a quarter shorter by chance", () => {
    const attempts = [1, 2, 3, 4, 7, 8, 100];
    expect(attempts.map((attempt) => retryDelayMs(failure(), attempt, 1))).toEqual([
      500, 1000, 2000, 4000, 30_000, 30_000, 30_000,
    ]);
    expect(retryDelayMs(failure(), 1, 0)).toBe(375);
  });

  it("is what the provider asks for, whichever attempt it was", () => {
    expect(retryDelayMs(failure(7000), 1, 1)).toBe(7000);
    expect(retryDelayMs(failure(7000), 9, 0)).toBe(7000);
    expect(retryDelayMs(failure(0), 1, 1)).toBe(0);
    expect(retryDelayMs(failure(30_000), 1, 1)).toBe(30_000);
  });

  it("is for ever when the provider asks for more patience than anybody has", () => {
    expect(retryDelayMs(failure(30_001), 1, 1)).toBeUndefined();
  });

  it("is for ever when trying again would not help", () => {
    expect(retryDelayMs(failure(undefined, false), 1, 1)).toBeUndefined();
    expect(retryDelayMs(failure(10, false), 1, 1)).toBeUndefined();
  });
});
