/** The history keeps what was said as it was said: of a call, of what a provider ran, of people's answers. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { asked, stateOf, stepFinished, stepStarted } from "./session-of.ts";

const error = { name: "Error", message: "No such field." };
const metadata = { openai: { itemId: "i" } };

function partsOf(...bodies: readonly EventBody[]): readonly unknown[] {
  return stateOf(...asked("Go."), stepStarted(1), ...bodies).history.open?.parts ?? [];
}

it("a call has the fields of its events and no others", () => {
  const call = { toolCallId: "a", toolName: "work" };
  const told = {
    ...call,
    input: "{",
    invalid: true,
    error,
    title: "Work",
    providerMetadata: metadata,
  };
  expect(partsOf({ type: "part.tool-call", data: told })).toStrictEqual([
    {
      kind: "call",
      callId: "a",
      toolName: "work",
      input: "{",
      invalid: true,
      error,
      title: "Work",
      providerMetadata: metadata,
      outcome: { status: "waiting" },
    },
  ]);
  expect(partsOf({ type: "part.tool-call", data: call })).toStrictEqual([
    { kind: "call", callId: "a", toolName: "work", input: {}, outcome: { status: "waiting" } },
  ]);
});

it("the result of a call that the provider ran is kept once it is whole, an error as such", () => {
  const own = { toolCallId: "a", toolName: "search", providerExecuted: true };
  const shown = { kind: "provider-result", callId: "a", toolName: "search" };
  const result = { ...own, input: {}, output: ["found"], providerMetadata: metadata };
  expect(partsOf({ type: "part.tool-result", data: result })).toStrictEqual([
    { ...shown, output: ["found"], isError: false, providerMetadata: metadata },
  ]);
  expect(partsOf({ type: "part.tool-error", data: { ...own, input: {}, error } })).toStrictEqual([
    { ...shown, output: error, isError: true },
  ]);
  for (const other of [{ preliminary: true }, { providerExecuted: false }])
    expect(partsOf({ type: "part.tool-result", data: { ...result, ...other } })).toEqual([]);
});

it("a step that failed, or whose prompt was too long, has its error where there is one", () => {
  const usage = { basis: "measured", inputTokens: 1, outputTokens: 1 } as const;
  const ends: readonly EventBody[] = [
    { type: "step.failed", data: { step: 1, error, usage } },
    { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 0, error } },
    { type: "context.overflowed", data: { step: 1, error } },
  ];
  for (const end of ends)
    expect(stateOf(...asked("Go."), stepStarted(1), end).history.open).toMatchObject({
      status: "failed",
      error,
    });
  const overflowed: EventBody = { type: "context.overflowed", data: { step: 1 } };
  const { open } = stateOf(...asked("Go."), stepStarted(1), overflowed).history;
  expect(open?.status).toBe("failed");
  expect(open).not.toHaveProperty("error");
});

it("an attempt that had said nothing leaves no trace, any other stays before the next", () => {
  const delta: EventBody = { type: "part.text-delta", data: { id: "t", text: "Half" } };
  const retrying: EventBody = {
    type: "step.retrying",
    data: { step: 1, attempt: 1, delayMs: 0, error },
  };
  const attempts = (...said: readonly EventBody[]): readonly unknown[] =>
    stateOf(...asked("Go."), stepStarted(1), ...said, retrying, stepStarted(1, 2), stepFinished(1))
      .history.items.filter((item) => item.kind === "step")
      .map(({ attempt, status }) => [attempt, status]);
  expect(attempts()).toEqual([]);
  expect(attempts(delta)).toEqual([[1, "failed"]]);
});
