/** The results that the model gets of its calls. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { asked, called, promptOf, stepFinished, stepStarted } from "./session-of.ts";

const key = { step: 1, callId: "1" };
const error = { name: "Error", message: "It broke." };

/** A turn whose only call is then answered, or left as it is. */
function afterCall(...then: readonly EventBody[]): readonly EventBody[] {
  return [...asked("Go."), stepStarted(1), called("1"), stepFinished(1, "tool-calls"), ...then];
}

/** The result that the model gets of that call. */
function told(...then: readonly EventBody[]): unknown {
  const last = promptOf(...afterCall(...then)).at(-1);
  return last?.role === "tool" && last.content[0]?.type === "tool-result"
    ? last.content[0].output
    : undefined;
}

const started: EventBody = {
  type: "tool.started",
  data: { ...key, toolName: "work", attempt: 1, effectId: "e" },
};
const requested: EventBody = {
  type: "tool.approval-requested",
  data: { ...key, toolName: "work" },
};
const modelOutput = { type: "json", value: { done: true } } as const;

describe("a call is answered", () => {
  it("with the tool's output as it was made for the model", () => {
    const succeeded: EventBody = {
      type: "tool.succeeded",
      data: { ...key, output: "whole", modelOutput },
    };
    expect(told(started, succeeded)).toEqual(modelOutput);
  });

  it("with the marks of its call where one of them is read at results", () => {
    const markedAs = (mark: Readonly<Record<string, string>>): unknown => {
      const call: EventBody = {
        type: "part.tool-call",
        data: {
          toolCallId: "1",
          toolName: "work",
          input: {},
          providerMetadata: { someone: mark },
        },
      };
      const last = promptOf(...asked("Go."), stepStarted(1), call, stepFinished(1)).at(-1);
      return last?.role === "tool" && last.content[0]?.type === "tool-result"
        ? last.content[0].providerOptions
        : undefined;
    };
    const own = { itemId: "i", namespace: "n", thoughtSignature: "s", mark: "m" };
    expect(markedAs(own)).toBeUndefined();
    for (const name of ["caller", "parallelToolCall", "toolsetName", "signature"]) {
      expect(markedAs({ ...own, [name]: "x" })).toEqual({ someone: { ...own, [name]: "x" } });
    }
  });

  it("in different words for each way in which it can end, or not have ended", () => {
    const words = {
      failed: told(started, { type: "tool.failed", data: { ...key, error } }),
      denied: told(requested, { type: "tool.denied", data: { ...key, reason: "too dear" } }),
      "skipped by a cancel": told({ type: "tool.skipped", data: { ...key, reason: "cancelled" } }),
      "skipped by a death": told({ type: "tool.skipped", data: { ...key, reason: "recovered" } }),
      "skipped by a limit": told({ type: "tool.skipped", data: { ...key, reason: "interrupted" } }),
      "unknown after a cancel": told(started, {
        type: "tool.unknown",
        data: { ...key, reason: "cancelled" },
      }),
      "unknown after a death": told(started, {
        type: "tool.unknown",
        data: { ...key, reason: "recovered" },
      }),
      "unknown after its time": told(started, {
        type: "tool.unknown",
        data: { ...key, reason: "timed-out" },
      }),
      running: told(started),
      waiting: told(),
    };
    const texts = Object.values(words).map((output) => JSON.stringify(output));
    expect(new Set(texts).size).toBe(texts.length);
    expect(words.failed).toEqual({ type: "error-text", value: "It broke." });
    expect(words.denied).toEqual({ type: "execution-denied", reason: "too dear" });
    expect(JSON.stringify(words["skipped by a death"])).toContain("It had no effect");
    expect(JSON.stringify(words["unknown after a death"])).toContain("It may have taken effect");
  });

  it("as not run yet while it waits for an answer, and as denied once it was refused", () => {
    expect(told(requested)).toEqual(told());
    const answered = (approved: boolean): EventBody => ({
      type: "tool.approval-answered",
      data: { ...key, approved, reason: "no" },
    });
    expect(told(requested, answered(false))).toEqual({ type: "execution-denied", reason: "no" });
    expect(told(requested, answered(true))).toEqual(told(started));
  });

  it("in the order of the calls, in whatever order the tools ended", () => {
    const end = (callId: string): EventBody => ({
      type: "tool.succeeded",
      data: { step: 1, callId, output: callId, modelOutput: { type: "text", value: callId } },
    });
    const prompt = promptOf(
      ...asked("Go."),
      stepStarted(1),
      called("1"),
      called("2"),
      called("3"),
      stepFinished(1, "tool-calls"),
      end("3"),
      end("1"),
      end("2"),
    );
    expect(JSON.stringify(prompt.at(-1)).match(/"value":"\d"/g)).toEqual([
      '"value":"1"',
      '"value":"2"',
      '"value":"3"',
    ]);
  });

  it("with an empty input in the place of one that is not JSON", () => {
    const invalid: EventBody = {
      type: "part.tool-call",
      data: { toolCallId: "1", toolName: "work", input: "{ not", invalid: true, error },
    };
    const [, assistant, tool] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      invalid,
      stepFinished(1, "tool-calls"),
      { type: "tool.failed", data: { ...key, error } },
    );
    expect(assistant?.content).toMatchObject([{ type: "tool-call", input: {} }]);
    expect(tool?.content).toMatchObject([{ output: { type: "error-text", value: "It broke." } }]);
  });
});
