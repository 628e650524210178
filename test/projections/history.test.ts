/** The history keeps what was said as it was said: of a call, of what a provider ran, of people's answers. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { waitingMessage } from "../../src/projections/history-item.ts";
import { asked, stateOf, stepFinished, stepStarted, turnEnded } from "./session-of.ts";

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
  const marked = { ...own, input: {}, error, providerMetadata: metadata };
  expect(partsOf({ type: "part.tool-error", data: marked })).toStrictEqual([
    { ...shown, output: error, isError: true, providerMetadata: metadata },
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

it("an accepted message waits with its content until it is delivered or withdrawn", () => {
  const queued = (id: string): EventBody => ({
    type: "message.queued",
    data: { id, content: id, delivery: "follow-up" },
  });
  const two = [queued("a"), queued("b")];
  const { history } = stateOf(...two);
  expect(["a", "b", "c"].map((id) => waitingMessage(history, id))).toEqual([
    { content: "a" },
    { content: "b" },
    undefined,
  ]);
  const withdrawn = stateOf(...two, { type: "message.withdrawn", data: { ids: ["a"] } }).history;
  expect(["a", "b"].map((id) => waitingMessage(withdrawn, id)?.content)).toEqual([undefined, "b"]);
  const delivered = stateOf(...two, {
    type: "message.delivered",
    data: { ids: ["b", "unknown"], turn: 3, boundary: "turn" },
  }).history;
  expect(delivered.items).toStrictEqual([
    { kind: "user", id: "b", content: "b", position: 3, time: 2000, turn: 3 },
  ]);
  expect(["a", "b"].map((id) => waitingMessage(delivered, id)?.content)).toEqual(["a", undefined]);
  const content = [{ type: "text", text: "Hi.", providerOptions: { p: "odd" } }] as never;
  const odd = stateOf({ type: "message.queued", data: { id: "a", content, delivery: "steer" } });
  expect(waitingMessage(odd.history, "a")).toEqual({
    content: [{ type: "text", text: "Hi.", providerOptions: {} }],
  });
});

it("a step is what its events say, and stays so among the items once something follows it", () => {
  const begun = [...asked("Go."), stepStarted(1, 2)];
  const place = { position: 4, time: 3000 };
  const open = {
    kind: "step",
    turn: 1,
    step: 1,
    attempt: 2,
    model: { provider: "turnlog", modelId: "scripted" },
    ...place,
    status: "streaming",
    parts: [],
  };
  const { history } = stateOf(...begun);
  expect(history.open).toStrictEqual(open);
  expect(history.turn).toBe(1);
  const finished = stateOf(...begun, stepFinished(1)).history;
  const usage = { basis: "measured", inputTokens: 10, outputTokens: 2 } as const;
  const end = { time: 4000, usage, response: {} };
  const done = { ...open, status: "finished", finishReason: "stop", end };
  expect(finished.open).toStrictEqual(done);
  const details = { rawFinishReason: "end_turn", providerMetadata: { p: { a: 1 } } };
  const told: EventBody = {
    type: "step.finished",
    data: {
      step: 1,
      finishReason: "stop",
      usage: { ...usage, raw: { odd: 1 } },
      response: { id: "r" },
      ...details,
    },
  };
  expect(stateOf(...begun, told).history.open?.end).toStrictEqual({
    time: 4000,
    usage,
    response: { id: "r" },
    ...details,
  });
  const steered: EventBody = {
    type: "message.delivered",
    data: { ids: [], turn: 1, boundary: "step" },
  };
  const later = stateOf(...begun, stepFinished(1), steered).history;
  expect(later).not.toHaveProperty("open");
  expect(later.items.slice(1)).toStrictEqual([done]);
  const interrupted: EventBody = {
    type: "step.interrupted",
    data: { step: 1, reason: "cancelled", usage },
  };
  expect(stateOf(...begun, interrupted).history.open).toStrictEqual({
    ...open,
    status: "interrupted",
  });
  const warned = (...warnings: readonly string[]): EventBody => ({
    type: "part.start-step",
    data: { warnings },
  });
  expect(stateOf(...begun, warned("odd")).history.open).toStrictEqual({
    ...open,
    warnings: ["odd"],
  });
  expect(stateOf(...begun, warned()).history.open).toStrictEqual(open);
});

it("a turn ends with how it ended, behind the step that was open", () => {
  const end = { turn: 1, reason: "failed", error } as const;
  const { items, ...rest } = stateOf(...asked("Go."), stepStarted(1), {
    type: "turn.ended",
    data: end,
  }).history;
  expect(items.map(({ kind }) => kind)).toEqual(["user", "step", "turn-end"]);
  expect(items[2]).toStrictEqual({ kind: "turn-end", ...end, position: 5, time: 4000 });
  expect(rest).not.toHaveProperty("open");
});

it("a note to conclude waits for the next step and stands before it, and goes with its turn", () => {
  const late = (lastStep: boolean): EventBody => ({
    type: "turn.limit-reached",
    data: { turn: 1, limit: "time", lastStep },
  });
  const noted = stateOf(...asked("Go."), late(true)).history;
  expect(noted.note).toMatchObject({ kind: "note", turn: 1, position: 4, time: 3000 });
  expect(noted.note?.text).toContain("Conclude now");
  expect(stateOf(...asked("Go."), late(false)).history).not.toHaveProperty("note");
  const sent = stateOf(...asked("Go."), late(true), stepStarted(1)).history;
  expect(sent.items.slice(1)).toStrictEqual([noted.note]);
  expect(sent).not.toHaveProperty("note");
  const over = stateOf(...asked("Go."), late(true), turnEnded()).history;
  expect(over).not.toHaveProperty("note");
  expect(over.items.map(({ kind }) => kind)).toEqual(["user", "turn-end"]);
});

it("other parts are kept as they came, with the metadata that can be sent", () => {
  const file = { data: "AA==", mediaType: "image/png" };
  const marked = { providerMetadata: metadata };
  const odd = { providerMetadata: { ...metadata, other: "text" } } as never as typeof marked;
  const source = { sourceType: "url", id: "s", url: "https://a.example" } as const;
  expect(
    partsOf(
      { type: "part.file", data: { ...file, ...marked } },
      { type: "part.file", data: { ...file, ...odd } },
      { type: "part.reasoning-file", data: file },
      { type: "part.reasoning-file", data: { ...file, ...odd } },
      { type: "part.custom", data: { kind: "p.note", ...odd } },
      { type: "part.custom", data: { kind: "p.note" } },
      { type: "part.source", data: source },
      { type: "part.error", data: { error } },
    ),
  ).toStrictEqual([
    { kind: "file", ...file, ...marked },
    { kind: "file", ...file, ...marked },
    { kind: "reasoning-file", ...file },
    { kind: "reasoning-file", ...file, ...marked },
    { kind: "custom", customKind: "p.note", ...marked },
    { kind: "custom", customKind: "p.note" },
    { kind: "source", source },
    { kind: "error", error },
  ]);
});

it("a call of the provider is one of its own kind, however often its id comes", () => {
  const call = { toolCallId: "a", toolName: "search", input: { q: 1 } };
  const dynamic = { ...call, dynamic: true, providerExecuted: true, invalid: false };
  const own = { kind: "provider-call", callId: "a", toolName: "search", input: { q: 1 } };
  expect(
    partsOf(
      { type: "part.tool-call", data: dynamic },
      { type: "part.tool-call", data: { ...call, providerExecuted: true, dynamic: false } },
      { type: "part.tool-call", data: { ...call, dynamic: true } },
      { type: "part.tool-call", data: call },
    ),
  ).toStrictEqual([
    { ...own, invalid: false, dynamic: true },
    own,
    { ...own, kind: "call", dynamic: true, outcome: { status: "waiting" } },
  ]);
});

it("progress is the outcome of a call that runs", () => {
  const parts = partsOf(
    { type: "part.tool-call", data: { toolCallId: "a", toolName: "work" } },
    { type: "tool.progressed", data: { step: 1, callId: "a", output: "half" } },
  );
  expect(parts).toMatchObject([{ outcome: { status: "running", progress: "half" } }]);
});

it("what is said of a step while none is open changes nothing", () => {
  const usage = { basis: "measured", inputTokens: 1, outputTokens: 1 } as const;
  const before = stateOf(...asked("Go."));
  const bodies: readonly EventBody[] = [
    stepFinished(1),
    { type: "step.failed", data: { step: 1, error, usage } },
    { type: "part.text-delta", data: { id: "t", text: "Hi." } },
    { type: "part.error", data: { error } },
    { type: "part.start-step", data: { warnings: ["odd"] } },
    { type: "context.overflowed", data: { step: 1, error } },
  ];
  for (const body of bodies)
    expect(stateOf(...asked("Go."), body).history).toStrictEqual(before.history);
});
