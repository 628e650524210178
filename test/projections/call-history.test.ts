/** A call's questions, answers and outcome in the history, in whatever order they come. */

import { describe, expect, it } from "vitest";
import { REDACTED, type EventBody } from "../../src/events/index.ts";
import type { CallPart, HistoryPart } from "../../src/projections/history-item.ts";
import { asked, stateOf, stepFinished, stepStarted, turnEnded } from "./session-of.ts";

const head: readonly EventBody[] = [...asked("Go."), stepStarted(1)];

function partsOf(...bodies: readonly EventBody[]): readonly HistoryPart[] {
  return stateOf(...head, ...bodies).history.open?.parts ?? [];
}

function callsOf(...bodies: readonly EventBody[]): readonly CallPart[] {
  return partsOf(...bodies).filter((part): part is CallPart => part.kind === "call");
}

const call = (toolCallId: string, toolName = "work"): EventBody => ({
  type: "part.tool-call",
  data: { toolCallId, toolName, input: {} },
});
const asks = (callId: string, more: object = {}): EventBody => ({
  type: "tool.approval-requested",
  data: { step: 1, callId, toolName: "work", ...more },
});
const answer = (callId: string, approved: boolean, more: object = {}): EventBody => ({
  type: "tool.approval-answered",
  data: { step: 1, callId, approved, ...more },
});
const started = (callId: string): EventBody => ({
  type: "tool.started",
  data: { step: 1, callId, toolName: "work", attempt: 1, effectId: callId },
});
const succeeded = (callId: string, more: object = {}): EventBody => ({
  type: "tool.succeeded",
  data: { step: 1, callId, output: "Done.", ...more },
});
const asksOutput = (callId: string): EventBody => ({
  type: "tool.output-requested",
  data: { step: 1, callId, toolName: "work" },
});

/** The position of the first event after the head. */
const first = head.length + 1;
const timeAt = (position: number): number => (position - 1) * 1000;

describe("a question", () => {
  it("stays with its call, with its reason, and with its answer", () => {
    const [part] = callsOf(
      call("a"),
      asks("a", { reason: "It pays." }),
      answer("a", true, { reason: "Fine.", by: "ann", always: false }),
    );
    expect(part).toMatchObject({ outcome: { status: "approved" } });
    expect(part?.approvals).toStrictEqual([
      {
        attempt: 1,
        reason: "It pays.",
        position: first + 1,
        askedAt: timeAt(first + 1),
        answer: {
          approved: true,
          reason: "Fine.",
          always: false,
          by: "ann",
          position: first + 2,
          answeredAt: timeAt(first + 2),
        },
      },
    ]);
  });

  it("does not replace the one before it, when it is answered or lapses", () => {
    const twice = [call("a"), asks("a"), answer("a", true), started("a"), asks("a")];
    const [answered] = callsOf(...twice, answer("a", false));
    expect(answered?.approvals).toMatchObject([
      { attempt: 1, answer: { approved: true } },
      { attempt: 2, again: true, answer: { approved: false } },
    ]);
    const [lapsed] = callsOf(...twice, succeeded("a"));
    expect(lapsed?.approvals).toMatchObject([
      { attempt: 1, answer: { approved: true } },
      { attempt: 2, lapsed: first + 5 },
    ]);
  });

  it("for an output ends with the call, which has the output that was given", () => {
    const [part] = callsOf(call("a"), asksOutput("a"), succeeded("a", { by: "ann" }));
    expect(part).toMatchObject({
      outcome: { status: "succeeded", output: "Done." },
      outputRequest: {
        position: first + 1,
        settled: { position: first + 2, at: timeAt(first + 2), by: "ann" },
      },
    });
  });

  it("has no fields that were not told", () => {
    const [part] = callsOf(call("a"), asks("a"));
    expect(part?.outcome).toStrictEqual({ status: "awaiting-approval" });
    expect(part?.approvals).toStrictEqual([
      { attempt: 1, position: first + 1, askedAt: timeAt(first + 1) },
    ]);
    const [answered] = callsOf(call("a"), asks("a"), answer("a", false));
    expect(answered?.outcome).toStrictEqual({ status: "refused" });
    expect(answered?.approvals?.[0]?.answer).toStrictEqual({
      approved: false,
      position: first + 2,
      answeredAt: timeAt(first + 2),
    });
    const [refused] = callsOf(call("a"), asks("a"), answer("a", false, { reason: "No." }));
    expect(refused?.outcome).toStrictEqual({ status: "refused", reason: "No." });
  });

  it("that is asked again is another attempt, and the first one lapses", () => {
    const [part] = callsOf(call("a"), asks("a"), asks("a"));
    expect(part?.approvals).toMatchObject([{ attempt: 1, lapsed: first + 2 }, { attempt: 2 }]);
    expect(part?.approvals?.[1]).not.toHaveProperty("lapsed");
  });

  it("about a call that was started asks whether it runs again", () => {
    const [part] = callsOf(call("a"), asks("a"), answer("a", true), started("a"), asks("a"));
    expect(part?.approvals?.map(({ again }) => again)).toEqual([undefined, true]);
    expect(part?.approvals?.[0]).not.toHaveProperty("lapsed");
  });

  it("lapses when its call ends, or goes to a client, unless it was answered", () => {
    for (const end of [succeeded("a"), started("a"), asksOutput("a")]) {
      expect(callsOf(call("a"), asks("a"), end)[0]?.approvals).toMatchObject([
        { lapsed: first + 2 },
      ]);
      const [answered] = callsOf(call("a"), asks("a"), answer("a", true), end);
      expect(answered?.approvals?.[0]).not.toHaveProperty("lapsed");
    }
  });

  it("of one call is not answered by the answer about another", () => {
    const parts = callsOf(call("a"), call("b"), asks("a"), asks("b"), answer("a", true));
    expect(parts).toMatchObject([
      { outcome: { status: "approved" } },
      { outcome: { status: "awaiting-approval" } },
    ]);
    expect(parts[1]?.approvals?.[0]).not.toHaveProperty("answer");
  });
});

describe("a standing answer", () => {
  const always = answer("a", true, { always: true });

  it("also answers the open questions about other calls of the tool", () => {
    const parts = callsOf(
      call("a"),
      call("b"),
      call("c", "other"),
      asks("a"),
      asks("b"),
      asks("c"),
      always,
    );
    const answers = parts.map(({ approvals }) => approvals?.[0]?.answer?.always);
    expect(answers).toEqual([true, true, undefined]);
  });

  it("answers none about another tool, whose call came first", () => {
    const parts = callsOf(call("c", "other"), call("a"), asks("c"), asks("a"), always);
    expect(parts.map(({ approvals }) => approvals?.[0]?.answer?.always)).toEqual([undefined, true]);
  });

  it("does not answer whether a call that was started runs again", () => {
    const parts = callsOf(call("a"), call("b"), started("b"), asks("a"), asks("b"), always);
    expect(parts[1]?.approvals?.[0]).not.toHaveProperty("answer");
  });

  it("changes no question that was answered or lapsed before", () => {
    const parts = callsOf(call("a"), call("b"), asks("b"), answer("b", false), asks("a"), always);
    expect(parts[1]?.approvals).toMatchObject([{ answer: { approved: false } }]);
  });
});

describe("a client's output", () => {
  it("settles the request, and says who gave it", () => {
    const [waiting] = callsOf(call("a"), asksOutput("a"));
    expect(waiting).toMatchObject({ outcome: { status: "awaiting-output" } });
    expect(waiting?.outputRequest).toStrictEqual({
      position: first + 1,
      requestedAt: timeAt(first + 1),
    });
    const settled = { position: first + 2, at: timeAt(first + 2) };
    const [anonymous] = callsOf(call("a"), asksOutput("a"), succeeded("a"));
    expect(anonymous?.outputRequest?.settled).toStrictEqual(settled);
    const [part] = callsOf(call("a"), asksOutput("a"), succeeded("a", { by: "ann" }));
    expect(part?.outputRequest?.settled).toStrictEqual({ ...settled, by: "ann" });
    expect(part?.outputRequest).toMatchObject({ position: first + 1 });
  });
});

describe("an outcome", () => {
  const key = { step: 1, callId: "a" };
  const error = { name: "Error", message: "No." };
  const modelOutput = { type: "text", value: "It broke." } as const;

  it.each<[EventBody, object]>([
    [started("a"), { status: "running" }],
    [succeeded("a"), { status: "succeeded", position: first + 2, output: "Done." }],
    [
      succeeded("a", { modelOutput }),
      { status: "succeeded", position: first + 2, output: "Done.", modelOutput },
    ],
    [
      { type: "tool.failed", data: { ...key, error } },
      { status: "failed", error },
    ],
    [
      { type: "tool.failed", data: { ...key, error, modelOutput } },
      { status: "failed", error, modelOutput },
    ],
    [{ type: "tool.denied", data: key }, { status: "denied" }],
    [
      { type: "tool.denied", data: { ...key, reason: "No." } },
      { status: "denied", reason: "No." },
    ],
    [
      { type: "tool.skipped", data: { ...key, reason: "cancelled" } },
      { status: "skipped", reason: "cancelled" },
    ],
    [
      { type: "tool.unknown", data: { ...key, reason: "recovered" } },
      { status: "unknown", reason: "recovered" },
    ],
  ])("has the fields of its event and no others: %o", (event, outcome) => {
    expect(callsOf(call("a"), call("b"), event).map((part) => part.outcome)).toStrictEqual([
      outcome,
      { status: "waiting" },
    ]);
  });

  it("is that of the call in its step, also after the step has ended, and of no other step", () => {
    const ended = [call("a"), stepFinished(1, "tool-calls"), stepStarted(2)];
    const { history } = stateOf(...head, ...ended, call("a"), succeeded("a"));
    const outcomes = [...history.items, history.open].flatMap((item) =>
      item?.kind === "step" ? item.parts.map((part) => "outcome" in part && part.outcome) : [],
    );
    expect(outcomes).toMatchObject([{ status: "succeeded" }, { status: "waiting" }]);
    const unknown = { ...succeeded("a"), data: { step: 9, callId: "a", output: 1 } } as EventBody;
    const state = stateOf(...head, ...ended, call("a"));
    expect(stateOf(...head, ...ended, call("a"), unknown).history).toStrictEqual(state.history);
    expect(stateOf(...head, call("a"), turnEnded(), unknown).history.items).toHaveLength(3);
  });
});

describe("a block", () => {
  const start = (id: string): EventBody => ({ type: "part.text-start", data: { id } });
  const delta = (id: string, text: string, more: object = {}): EventBody => ({
    type: "part.text-delta",
    data: { id, text, ...more },
  });
  const end = (id: string, more: object = {}): EventBody => ({
    type: "part.text-end",
    data: { id, ...more },
  });
  const metadata = (n: number): object => ({ providerMetadata: { p: { n } } });

  it("grows by its own deltas, is open until its end, and has the newest metadata", () => {
    expect(
      partsOf(start("x"), start("y"), delta("x", "a"), delta("y", "b"), delta("x", "c")),
    ).toEqual([
      { kind: "text", id: "x", text: "ac", open: true },
      { kind: "text", id: "y", text: "b", open: true },
    ]);
    expect(partsOf(start("x"), delta("x", "a", metadata(1)), end("x", metadata(2)))).toStrictEqual([
      { kind: "text", id: "x", text: "a", open: false, ...metadata(2) },
    ]);
    expect(partsOf(start("x"), delta("x", "a", metadata(1)), end("x"))).toMatchObject([
      metadata(1),
    ]);
  });

  it("begins with its first delta if its start is missing, and again after its end", () => {
    expect(partsOf(delta("x", "a"), end("x"), delta("x", "b"))).toStrictEqual([
      { kind: "text", id: "x", text: "a", open: false },
      { kind: "text", id: "x", text: "b", open: true },
    ]);
  });

  it("of text and of reasoning with one id are two", () => {
    const thought: EventBody = { type: "part.reasoning-delta", data: { id: "x", text: "b" } };
    expect(partsOf(delta("x", "a"), thought)).toMatchObject([
      { kind: "text", text: "a" },
      { kind: "reasoning", text: "b" },
    ]);
  });

  it("has one placeholder, however many of its events were redacted", () => {
    const gone = { redacted: true };
    expect(partsOf(start("x"), delta("x", "", gone), delta("x", "", gone), end("x", gone))).toEqual(
      [{ kind: "text", id: "x", text: REDACTED, open: false }],
    );
    expect(partsOf(start("x"), end("x", gone))).toMatchObject([{ text: REDACTED }]);
    expect(partsOf(start("x"), delta("x", "a"), end("x", gone))).toMatchObject([{ text: "a" }]);
  });
});
