/** The AI SDK's step results, made of a session's history: what callbacks and conditions are given. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { stepResults } from "../../src/state/step-result.ts";
import {
  asked,
  said,
  stateOf,
  stepFinished,
  stepStarted,
  turnEnded,
} from "../projections/session-of.ts";

const metadata = { test: { mark: "kept" } };
const values = { session: "s", runtimeContext: {}, toolsContext: {} };

function resultsOf(...bodies: readonly EventBody[]) {
  return stepResults(stateOf(...bodies).history, values);
}

function work(toolCallId: string, more: object = {}): EventBody {
  const data = { toolCallId, toolName: "work", input: { of: toolCallId }, ...more };
  return { type: "part.tool-call", data };
}

/** A step of the second turn. */
function begun(step: number): EventBody {
  const model = { provider: "turnlog", modelId: "scripted" };
  const estimate = { tokens: 10, basis: "length" } as const;
  const data = { turn: 2, step, attempt: 1, model, promptDigest: "", estimate };
  return { type: "step.started", data };
}

const usage = {
  basis: "measured",
  inputTokens: 40,
  uncachedInputTokens: 10,
  cacheReadTokens: 20,
  cacheWriteTokens: 10,
  outputTokens: 8,
  textTokens: 5,
  reasoningTokens: 3,
} as const;

it("have the steps of the running turn that are finished, each with the messages that came between", () => {
  const steered = { id: "more", content: "Hurry.", delivery: "steer" } as const;
  const log: readonly EventBody[] = [
    ...asked("Before."),
    stepStarted(1),
    stepFinished(1),
    turnEnded(1),
    ...asked("Go.", 2),
    begun(2),
    ...said("One."),
    stepFinished(2, "tool-calls"),
    { type: "message.queued", data: steered },
    { type: "message.delivered", data: { ids: ["more"], turn: 2, boundary: "step" } },
    begun(3),
    ...said("Two."),
  ];
  expect(resultsOf(...log).map(({ text }) => text)).toEqual(["One."]);
  const results = resultsOf(...log, stepFinished(3));
  expect(results.map(({ text, stepNumber, callId }) => [text, stepNumber, callId])).toEqual([
    ["One.", 0, "s:2"],
    ["Two.", 1, "s:2"],
  ]);
  expect(results.map((one) => one.experimental_steeringMessages)).toEqual([
    undefined,
    [{ role: "user", content: "Hurry." }],
  ]);
});

it("have each part as the model gave it, with the provider's data, then the results in the order of the calls", () => {
  const [result] = resultsOf(
    ...asked("Go."),
    stepStarted(1),
    { type: "part.start-step", data: { warnings: [{ type: "other", message: "Hot." }] } },
    { type: "part.reasoning-start", data: { id: "r", providerMetadata: metadata } },
    { type: "part.reasoning-delta", data: { id: "r", text: "Hm." } },
    { type: "part.reasoning-end", data: { id: "r" } },
    ...said("I ", "t1"),
    ...said("look.", "t2"),
    work("a", { title: "Work", providerMetadata: metadata }),
    work("b", { dynamic: true }),
    work("c"),
    work("d", { invalid: true, error: { name: "Error", message: "No such tool." } }),
    work("p", { providerExecuted: true }),
    {
      type: "part.tool-result",
      data: {
        toolCallId: "p",
        toolName: "work",
        output: "found",
        providerExecuted: true,
        providerMetadata: metadata,
      },
    },
    { type: "part.source", data: { sourceType: "url", id: "u", url: "https://a.invalid" } },
    { type: "part.file", data: { data: "AQID", mediaType: "image/png" } },
    {
      type: "part.reasoning-file",
      data: { data: "BAUG", mediaType: "image/png", providerMetadata: metadata },
    },
    { type: "part.custom", data: { kind: "test.note", providerMetadata: metadata } },
    {
      type: "step.finished",
      data: {
        step: 1,
        finishReason: "tool-calls",
        rawFinishReason: "tool_use",
        usage,
        response: { id: "msg", modelId: "scripted-2", timestamp: 5 },
        providerMetadata: metadata,
      },
    },
    {
      type: "tool.failed",
      data: { step: 1, callId: "b", error: { name: "Bad", message: "It broke." } },
    },
    { type: "tool.denied", data: { step: 1, callId: "c", reason: "No" } },
    {
      type: "tool.failed",
      data: { step: 1, callId: "d", error: { name: "Bad", message: "Invalid." } },
    },
    { type: "tool.succeeded", data: { step: 1, callId: "a", output: { got: 1 } } },
  );
  const call = (id: string, more: object = {}) => ({
    toolCallId: id,
    toolName: "work",
    input: { of: id },
    ...more,
  });
  const given = { providerMetadata: metadata };
  const ran = { providerExecuted: true };
  const dynamic = { dynamic: true };
  const file = (base64: string, ...bytes: readonly number[]) => ({
    base64,
    mediaType: "image/png",
    uint8Array: Uint8Array.from(bytes),
  });
  const [picture, thought] = [file("AQID", 1, 2, 3), file("BAUG", 4, 5, 6)];
  const source = { type: "source", sourceType: "url", id: "u", url: "https://a.invalid" };
  const error = { name: "Error", message: "No such tool." };
  const calls = {
    a: { type: "tool-call", ...call("a", { title: "Work", ...given }) },
    b: { type: "tool-call", ...call("b", dynamic) },
    c: { type: "tool-call", ...call("c") },
    d: { type: "tool-call", ...call("d", { ...dynamic, invalid: true, error }) },
    p: { type: "tool-call", ...call("p", ran) },
  };
  const found = { type: "tool-result", ...call("p", { ...ran, ...given }), output: "found" };
  const done = { type: "tool-result", ...call("a", given), output: { got: 1 } };
  const failed = (name: string, message: string) => Object.assign(new Error(message), { name });
  const broken = { type: "tool-error", ...call("b", dynamic), error: failed("Bad", "It broke.") };
  const denied = {
    type: "tool-error",
    ...call("c"),
    error: new Error("The call is denied: No."),
  };
  const wrong = { type: "tool-error", ...call("d", dynamic), error: failed("Bad", "Invalid.") };
  expect(result?.content).toEqual([
    { type: "reasoning", text: "Hm.", ...given },
    { type: "text", text: "I " },
    { type: "text", text: "look." },
    ...Object.values(calls),
    found,
    source,
    { type: "file", file: picture },
    { type: "reasoning-file", file: thought, ...given },
    { type: "custom", kind: "test.note", ...given },
    done,
    broken,
    denied,
    wrong,
  ]);
  expect(result).toMatchObject({
    model: { provider: "turnlog", modelId: "scripted" },
    finishReason: "tool-calls",
    rawFinishReason: "tool_use",
    providerMetadata: metadata,
    warnings: [{ type: "other", message: "Hot." }],
    text: "I look.",
    reasoningText: "Hm.",
    reasoning: [
      { type: "reasoning", text: "Hm.", providerOptions: metadata },
      {
        type: "reasoning-file",
        data: "BAUG",
        mediaType: "image/png",
        providerOptions: metadata,
      },
    ],
    files: [picture],
    sources: [source],
    toolCalls: Object.values(calls),
    staticToolCalls: [calls.a, calls.c, calls.p],
    dynamicToolCalls: [calls.b, calls.d],
    toolResults: [found, done],
    staticToolResults: [found, done],
    dynamicToolResults: [],
    usage: {
      inputTokens: 40,
      inputTokenDetails: { noCacheTokens: 10, cacheReadTokens: 20, cacheWriteTokens: 10 },
      outputTokens: 8,
      outputTokenDetails: { textTokens: 5, reasoningTokens: 3 },
      totalTokens: 48,
    },
    response: { id: "msg", modelId: "scripted-2", timestamp: new Date(5) },
  });
  expect(result?.response.messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
});

it("have no figures and no reasoning where the provider gave none", () => {
  const guessed = { ...usage, basis: "estimated" } as const;
  const finished: EventBody = {
    type: "step.finished",
    data: { step: 1, finishReason: "stop", usage: guessed, response: {} },
  };
  const [result] = resultsOf(...asked("Go."), stepStarted(1), ...said("Yes."), finished);
  expect(result?.reasoningText).toBeUndefined();
  expect(result?.providerMetadata).toBeUndefined();
  expect(result?.usage).toMatchObject({
    inputTokens: undefined,
    outputTokens: undefined,
    totalTokens: undefined,
  });
  expect(result?.response).toMatchObject({
    id: "",
    modelId: "scripted",
    timestamp: new Date(3000),
  });
});

it("have the speed of a step by its own time, and none where no time passed", () => {
  const at = (ms: number) => {
    const finished: EventBody = {
      type: "step.finished",
      data: { step: 1, finishReason: "stop", usage, response: {} },
    };
    const { history } = stateOf(...asked("Go."), stepStarted(1), finished, turnEnded());
    const items = history.items.map((item) =>
      item.kind === "step" && item.end !== undefined
        ? { ...item, end: { ...item.end, time: item.time + ms } }
        : item,
    );
    return stepResults({ ...history, items }, values)[0]?.performance;
  };
  expect(at(2000)).toMatchObject({
    responseTimeMs: 2000,
    stepTimeMs: 2000,
    effectiveOutputTokensPerSecond: 4,
    effectiveTotalTokensPerSecond: 24,
  });
  for (const ms of [0, -5])
    expect(at(ms)).toMatchObject({ responseTimeMs: 0, effectiveOutputTokensPerSecond: 0 });
});

it("tell the results of static tools from those of dynamic ones", () => {
  const result = (callId: string): EventBody => ({
    type: "tool.succeeded",
    data: { step: 1, callId, output: callId },
  });
  const [step] = resultsOf(
    ...asked("Go."),
    stepStarted(1),
    work("a"),
    work("b", { dynamic: true }),
    stepFinished(1, "tool-calls"),
    result("a"),
    result("b"),
  );
  const ids = (results: readonly { readonly toolCallId: string }[] = []): readonly string[] =>
    results.map(({ toolCallId }) => toolCallId);
  expect(ids(step?.toolResults)).toEqual(["a", "b"]);
  expect(ids(step?.staticToolResults)).toEqual(["a"]);
  expect(ids(step?.dynamicToolResults)).toEqual(["b"]);
});
