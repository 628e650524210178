/** What providers say when a prompt is too long, and what is learned of their models from it. */

import { describe, expect, it } from "vitest";
import type { EventBody, StoredError } from "../../src/events/index.ts";
import {
  learnedLimits,
  isTooLarge,
  type LearnedLimits,
  overflowOf,
} from "../../src/projections/learned-limits.ts";

const error = (message: string, more: Partial<StoredError> = {}): StoredError => ({
  name: "AI_APICallError",
  message,
  ...more,
});

describe("an overflow", () => {
  it.each<[string, string, object]>([
    [
      "Anthropic",
      "prompt is too long: 213462 tokens > 200000 maximum",
      { promptTokens: 213_462, contextWindow: 200_000 },
    ],
    [
      "Anthropic, with the reply",
      "input length and `max_tokens` exceed context limit: 198309 + 8192 > 200000, decrease input",
      { promptTokens: 198_309, contextWindow: 200_000 },
    ],
    [
      "OpenAI",
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
      { promptTokens: 130_001, contextWindow: 128_000 },
    ],
    ["OpenAI, responses", "Your input exceeds the context window of this model.", {}],
    [
      "OpenRouter",
      "This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens",
      { promptTokens: 1_293_741, contextWindow: 1_048_576 },
    ],
    [
      "Google",
      "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
      { promptTokens: 1_196_265, contextWindow: 1_048_575 },
    ],
    [
      "xAI",
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      { promptTokens: 537_812, contextWindow: 131_072 },
    ],
    [
      "Mistral",
      "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      { promptTokens: 65_673, contextWindow: 32_768 },
    ],
    ["Bedrock", "Input is too long for requested model.", {}],
    ["Groq", "Please reduce the length of the messages or completion.", {}],
    [
      "Moonshot",
      "Your request exceeded model token limit: 131072 (requested: 140000)",
      { contextWindow: 131_072, promptTokens: 140_000 },
    ],
  ])("of %s is recognised", (_, message, found) => {
    expect(overflowOf(error(message))).toEqual(found);
  });

  it("is found in the body of the answer, in the code and in the error beneath", () => {
    const body = '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}';
    expect(overflowOf(error("Bad Request", { responseBody: body }))).toMatchObject({
      contextWindow: 8,
    });
    expect(overflowOf(error("Bad Request", { code: "context_length_exceeded" }))).toEqual({});
    const beneath = error("Failed after 3 attempts", { cause: error("prompt is too long") });
    expect(overflowOf(beneath)).toEqual({});
  });

  it.each([
    "Rate limit reached: too many tokens per minute",
    "Invalid API key",
    "The maximum length of the tool name is 64",
    "max_tokens is too large: 200000. This model supports at most 128000 completion tokens",
  ])("is not seen in another error: %s", (message) => {
    expect(overflowOf(error(message))).toBeUndefined();
  });
});

describe("a request of too many bytes", () => {
  it.each<[string, StoredError]>([
    ["by its status", error("No.", { statusCode: 413 })],
    ["by Anthropic's type", error("No.", { type: "request_too_large" })],
    ["by Anthropic's words", error("Request exceeds the maximum size")],
    ["by a proxy's words", error("413 Request Entity Too Large")],
    ["by a gateway's limit", error("Maximum request body size 1048576 exceeded, actual 2000000")],
    ["by Google's words", error("Request payload size exceeds the limit: 20971520 bytes.")],
    ["in the answer's body", error("No.", { responseBody: "payload too large" })],
    ["in the error beneath", error("No.", { cause: error("content too large") })],
  ])("is recognised %s", (_, given) => {
    expect(isTooLarge(given)).toBe(true);
  });

  it.each<[string, StoredError]>([
    ["another status", error("No.", { statusCode: 400 })],
    ["another error", error("Rate limit reached")],
    ["a prompt of too many tokens", error("prompt is too long", { statusCode: 413 })],
    ["a cause without a name", error("No.", { cause: { message: "payload too large" } })],
    ["a cause that is a text", error("No.", { cause: "payload too large" })],
    ["a cause of another form", error("No.", { cause: { name: "E", message: 5 } })],
    ["no cause", error("No.", { cause: null })],
  ])("is not seen in %s", (_, given) => {
    expect(isTooLarge(given)).toBe(false);
  });
});

describe("the limits of a model", () => {
  const model = { provider: "p", modelId: "m" };
  const started: EventBody = {
    type: "step.started",
    data: {
      turn: 1,
      step: 1,
      attempt: 1,
      model,
      promptDigest: "",
      estimate: { tokens: 1, basis: "length" },
    },
  };
  const fold = (...bodies: readonly EventBody[]): LearnedLimits =>
    bodies.reduce(
      (state, body, index) => learnedLimits.fold(state, { position: index + 1, time: 0, ...body }),
      learnedLimits.initial,
    );
  const tooLong = error("prompt is too long: 9 tokens > 8000 maximum");

  it.each<[string, EventBody]>([
    ["an overflow", { type: "context.overflowed", data: { step: 1, error: tooLong } }],
    [
      "a step that failed",
      {
        type: "step.failed",
        data: {
          step: 1,
          error: tooLong,
          usage: { basis: "estimated", inputTokens: 9, outputTokens: 0 },
        },
      },
    ],
    [
      "an attempt that failed",
      { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 0, error: tooLong } },
    ],
  ])("are learned from %s", (_, body) => {
    expect(fold(started, body).windows).toEqual({ "p:m": 8000 });
  });

  it("are each model's own, and the newest figure holds", () => {
    const of = (modelId: string): EventBody => {
      if (started.type !== "step.started") throw new Error("No step.");
      return { ...started, data: { ...started.data, model: { provider: "p", modelId } } };
    };
    const refused = (window: number): EventBody => ({
      type: "context.overflowed",
      data: { step: 1, error: error(`prompt is too long: 9 tokens > ${window} maximum`) },
    });
    const billed = (inputTokens: number): EventBody => ({
      type: "step.finished",
      data: {
        step: 1,
        finishReason: "stop",
        usage: { basis: "measured", inputTokens, outputTokens: 0 },
        response: {},
      },
    });
    expect(
      fold(of("a"), refused(7), billed(3), of("b"), refused(8), billed(4), refused(9)),
    ).toStrictEqual({
      windows: { "p:a": 7, "p:b": 9 },
      largest: { "p:a": 3, "p:b": 4 },
      model: "p:b",
    });
  });

  it("are not learned from an error without a window, nor before a model is known", () => {
    const refused = (given?: StoredError): EventBody => ({
      type: "context.overflowed",
      data: given === undefined ? { step: 1 } : { step: 1, error: given },
    });
    const none = { ...learnedLimits.initial, model: "p:m" };
    expect(fold(started, refused())).toStrictEqual(none);
    expect(fold(started, refused(error("prompt is too long")))).toStrictEqual(none);
    expect(fold(started, refused(error("It broke.")))).toStrictEqual(none);
    const nothing = error("prompt is too long: 9 tokens > 0 maximum");
    expect(fold(started, refused(nothing))).toStrictEqual(none);
    expect(fold(refused(tooLong))).toBe(learnedLimits.initial);
    expect(
      fold({
        type: "step.finished",
        data: {
          step: 1,
          finishReason: "stop",
          usage: { basis: "measured", inputTokens: 5, outputTokens: 0 },
          response: {},
        },
      }),
    ).toBe(learnedLimits.initial);
  });

  it("are at least what was billed, and not what was guessed", () => {
    const finished = (basis: "measured" | "estimated", inputTokens: number): EventBody => ({
      type: "step.finished",
      data: {
        step: 1,
        finishReason: "stop",
        usage: { basis, inputTokens, outputTokens: 0 },
        response: {},
      },
    });
    const state = fold(
      started,
      finished("measured", 900),
      finished("measured", 700),
      finished("estimated", 5000),
    );
    expect(state.largest).toEqual({ "p:m": 900 });
    expect(learnedLimits.schema.parse(structuredClone(state))).toEqual(state);
  });
});
