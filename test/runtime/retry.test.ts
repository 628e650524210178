/** Whether and when a call that failed is tried again. */

import { APICallError } from "ai";
import { describe, expect, it } from "vitest";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { type ProviderFailure, retryDelayMs } from "../../src/runtime/model/provider-failure.ts";
import type { Timer } from "../../src/shared/index.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { openSession } from "../support/with-runtime.ts";

const MINUTE = 60_000;

function failure(retryAfterMs?: number, isRetryable = true): ProviderFailure {
  return { kind: "overloaded", isRetryable, retryAfterMs };
}

describe("the wait before the next attempt", () => {
  it("doubles from half a second to half a minute, and is up to a quarter shorter by chance", () => {
    const attempts = [1, 2, 3, 4, 7, 8, 100];
    expect(attempts.map((attempt) => retryDelayMs(failure(), attempt, 1, MINUTE))).toEqual([
      500, 1000, 2000, 4000, 30_000, 30_000, 30_000,
    ]);
    expect(retryDelayMs(failure(), 1, 0, MINUTE)).toBe(375);
  });

  it("is what the provider asks for, whichever attempt it was", () => {
    expect(retryDelayMs(failure(7000), 1, 1, MINUTE)).toBe(7000);
    expect(retryDelayMs(failure(7000), 9, 0, MINUTE)).toBe(7000);
    expect(retryDelayMs(failure(0), 1, 1, MINUTE)).toBe(0);
    expect(retryDelayMs(failure(60_000), 1, 1, MINUTE)).toBe(60_000);
  });

  it("is forever when the provider asks for more patience than the agent has", () => {
    expect(retryDelayMs(failure(60_001), 1, 1, MINUTE)).toBeUndefined();
    expect(retryDelayMs(failure(3000), 1, 1, 2000)).toBeUndefined();
    expect(retryDelayMs(failure(3000), 1, 1, Infinity)).toBe(3000);
  });

  it("is never longer than the agent's patience", () => {
    expect(retryDelayMs(failure(), 7, 1, 2000)).toBe(2000);
  });

  it("is forever when trying again would not help", () => {
    expect(retryDelayMs(failure(undefined, false), 1, 1, MINUTE)).toBeUndefined();
    expect(retryDelayMs(failure(10, false), 1, 1, MINUTE)).toBeUndefined();
  });
});

/** Waits for nothing, and keeps how long it was asked to wait before another attempt. */
function hurried(): { readonly timer: Timer; readonly waits: readonly number[] } {
  const waits: number[] = [];
  return {
    waits,
    timer: (milliseconds, due, wait) => {
      if (wait.kind === "retry") waits.push(milliseconds);
      return impatientTimer(milliseconds, due, wait);
    },
  };
}

function limited(responseHeaders: Record<string, string>): ScriptedStep {
  const about = { message: "Slow down.", url: "", requestBodyValues: {}, statusCode: 429 };
  return { failure: new APICallError({ ...about, responseHeaders }) };
}

describe("a provider that asks for a wait", () => {
  it("gets it, up to a minute", async () => {
    const { timer, waits } = hurried();
    const model = scriptedModel([limited({ "retry-after": "59" }), "Here I am."]);
    await using open = await openSession({ model }, { timer });
    expect(await (await open.session.send("Hi.")).result).toMatchObject({ text: "Here I am." });
    expect(waits).toEqual([59_000]);
  });

  it("fails the turn if it asks for more, and the error says when to come back", async () => {
    const model = scriptedModel([limited({ "retry-after": "61" }), "Here I am."]);
    await using open = await openSession({ model });
    const turn = await open.session.send("Hi.");
    await expect(turn.result).rejects.toMatchObject({
      code: "TURN_FAILED",
      details: { retryAfterMs: 61_000 },
    });
    expect(model.calls).toHaveLength(1);
  });

  it("gets as much as the agent has patience for", async () => {
    const { timer, waits } = hurried();
    const asks = { "retry-after-ms": "90000" };
    const patient = scriptedModel([limited(asks), "Here I am."]);
    await using open = await openSession(
      { model: patient, timeLimits: { retryDelayMs: 120_000 } },
      { timer },
    );
    expect(await (await open.session.send("Hi.")).result).toMatchObject({ text: "Here I am." });
    expect(waits).toEqual([90_000]);
    const impatient = scriptedModel([limited({ "retry-after-ms": "3000" })]);
    await using other = await openSession({ model: impatient, timeLimits: { retryDelayMs: 2000 } });
    await expect((await other.session.send("Hi.")).result).rejects.toMatchObject({
      details: { retryAfterMs: 3000 },
    });
  });

  it("is not waited for in a replay whose agent would wait longer than the recorded one", async () => {
    const model = scriptedModel([limited({ "retry-after": "45" })]);
    const timeLimits = { retryDelayMs: 30_000 };
    await using open = await openSession({ model, timeLimits });
    await expect((await open.session.send("Hi.")).result).rejects.toThrow("Slow down.");
    const events = await open.events();
    expect(await replay(events, { model })).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
  });
});
