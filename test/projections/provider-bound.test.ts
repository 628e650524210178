/** What only its own provider accepts is not shown to another model, and is shown again to the first. */

import { describe, expect, it } from "vitest";
import type { HistoryPart, StepItem } from "../../src/projections/history-item.ts";
import { bindingOf, boundItem, isAllBound } from "../../src/projections/prompt-problems.ts";

describe("the binding of a model", () => {
  it.each([
    ["anthropic.messages", "claude-sonnet-4-5", "anthropic.messages"],
    ["openai.responses", "gpt-4.1", "openai.responses"],
    // One provider with the models of many makers.
    ["openrouter", "anthropic/claude-sonnet-4.5", "openrouter/anthropic"],
    ["amazon-bedrock", "anthropic.claude-3", "amazon-bedrock/anthropic"],
    ["amazon-bedrock", "us.anthropic.claude-3", "amazon-bedrock/anthropic"],
    ["amazon-bedrock", "my-profile", "amazon-bedrock"],
    ["gateway", "/local", "gateway"],
  ])("of %s and %s is %s", (provider, modelId, binding) => {
    expect(bindingOf({ provider, modelId })).toBe(binding);
  });
});

it("steps can be sent unchanged to their own provider, if they were imported, and to a model not known yet", () => {
  expect(isAllBound(["a", "a"], "a")).toBe(true);
  expect(isAllBound(["a", "imported"], "a")).toBe(true);
  expect(isAllBound(["a", "b"], "a")).toBe(false);
  expect(isAllBound(["a", "b"], undefined)).toBe(true);
  expect(isAllBound([], "a")).toBe(true);
});

describe("a step for a model of another provider", () => {
  const providerMetadata = { a: { itemId: "i" } };
  const file = { data: "AA==", mediaType: "image/png" };
  const own = { callId: "p", toolName: "search" };
  const text = { kind: "text", id: "t", text: "Well.", open: false } as const;
  const call = {
    kind: "call",
    callId: "c",
    toolName: "work",
    input: {},
    outcome: { status: "waiting" },
  } as const;
  const error = { kind: "error", error: { name: "E", message: "" } } as const;
  const parts: readonly HistoryPart[] = [
    { kind: "reasoning", id: "r", text: "Hm.", open: false },
    { ...text, providerMetadata },
    { ...call, providerMetadata },
    { kind: "provider-call", ...own, input: {} },
    { kind: "provider-result", ...own, output: 1, isError: false },
    { kind: "file", ...file },
    { kind: "reasoning-file", ...file },
    { kind: "custom", customKind: "a.note" },
    { kind: "source", source: {} },
    error,
  ];
  const step: StepItem = {
    kind: "step",
    turn: 1,
    step: 1,
    attempt: 1,
    model: { provider: "a", modelId: "m" },
    position: 1,
    time: 1,
    status: "finished",
    parts,
  };

  it("has texts and calls without metadata, and nothing else that a provider is sent", () => {
    expect(boundItem(step, "b")).toStrictEqual({
      ...step,
      parts: [text, call, { kind: "source", source: {} }, error],
    });
  });

  it("is made once, and is the step itself for its own provider", () => {
    expect(boundItem(step, "b")).toBe(boundItem(step, "c"));
    expect(boundItem(step, "a")).toBe(step);
    expect(boundItem(step, undefined)).toBe(step);
    const note = { kind: "note", text: "", turn: 1, position: 1, time: 1 } as const;
    expect(boundItem(note, "b")).toBe(note);
  });
});
