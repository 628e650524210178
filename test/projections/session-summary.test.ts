/** The row of a session in lists: what it is called, whether it runs or waits, what it has spent. */

import { expect, it } from "vitest";
import type { EventBody, SessionEvent, TokenUsage } from "../../src/events/index.ts";
import { sessionSummary, type SessionSummary } from "../../src/projections/session-summary.ts";
import { called, spent, stepFinished, stepStarted, turnEnded } from "./session-of.ts";

function from(state: SessionSummary, ...bodies: readonly EventBody[]): SessionSummary {
  const events = bodies.map((body, index): SessionEvent => ({
    position: index + 1,
    time: (index + 1) * 10,
    ...body,
  }));
  return events.reduce((before, event) => sessionSummary.fold(before, event), state);
}

const after = (...bodies: readonly EventBody[]): SessionSummary =>
  from(sessionSummary.initial, ...bodies);

const agent = { digest: "d1", model: { provider: "turnlog", modelId: "scripted" }, tools: [] };

function created(more: object = {}): EventBody {
  return { type: "session.created", data: { agent, ...more } };
}

function queued(id: string, more: object = {}): EventBody {
  return { type: "message.queued", data: { id, content: id, delivery: "follow-up", ...more } };
}

const turnStarted = (turn = 1): EventBody => ({
  type: "turn.started",
  data: { turn, maxSteps: 9 },
});

const parent = {
  session: "above",
  step: 1,
  callId: "c",
  toolName: "delegate",
  depth: 1,
};

const ofCall = { step: 1, callId: "a" };
const asksApproval: EventBody = {
  type: "tool.approval-requested",
  data: { ...ofCall, toolName: "work" },
};
const asksOutput = (callId: string): EventBody => ({
  type: "tool.output-requested",
  data: { step: 1, callId, toolName: "work" },
});

it("begins with what the session was created with", () => {
  expect(after()).toStrictEqual({
    title: "",
    status: "idle",
    turns: 0,
    steps: 0,
    messages: 0,
    total: sessionSummary.initial.total,
  });
  expect(after(created())).toStrictEqual({ ...after(), agentDigest: "d1" });
  const named = { agent: { ...agent, name: "writer" }, metadata: { user: 1 }, parent };
  expect(after(created(named))).toMatchObject({
    agent: "writer",
    agentDigest: "d1",
    metadata: { user: 1 },
    parent,
  });
  expect(
    after(created(named), { type: "session.metadata-set", data: { metadata: { user: 2 } } }),
  ).toMatchObject({ metadata: { user: 2 }, agent: "writer" });
  expect(
    after(created(named), {
      type: "session.configured",
      data: { agent: { ...agent, digest: "d2" } },
    }),
  ).toMatchObject({ agentDigest: "d2", agent: "writer" });
});

it("is called by the first 80 characters of the first message that has text", () => {
  expect(after(queued("a", { content: "  Read\n\tthis  " })).title).toBe("Read this");
  expect(after(queued("a", { content: "x".repeat(100) })).title).toBe("x".repeat(80));
  expect(after(queued("a", { content: `${"x".repeat(79)}💥!` })).title).toBe("x".repeat(79));
  const file = { type: "file", data: "AA==", mediaType: "image/png" };
  const text = (text: string): object => ({ type: "text", text });
  expect(after(queued("a", { content: [text("See"), file, text("this")] })).title).toBe("See this");
  const later = after(queued("a", { content: [file] }), queued("b"), queued("c"));
  expect(later).toMatchObject({ title: "b", messages: 3 });
});

it("has the messages that wait, until they are delivered or withdrawn", () => {
  const waiting = after(queued("a"), queued("b", { notBefore: 5 }), queued("c"));
  expect(waiting.waiting).toStrictEqual([{ id: "a" }, { id: "b", notBefore: 5 }, { id: "c" }]);
  const delivered: EventBody = {
    type: "message.delivered",
    data: { ids: ["a"], turn: 1, boundary: "turn" },
  };
  const left = from(waiting, delivered);
  expect(left).toStrictEqual({ ...waiting, waiting: [{ id: "b", notBefore: 5 }, { id: "c" }] });
  const none = from(left, { type: "message.withdrawn", data: { ids: ["b", "c"] } });
  expect(none).not.toHaveProperty("waiting");
  expect(from(none, delivered)).toStrictEqual(none);
});

it("moves a waiting message, and ignores a move of another", () => {
  const waiting = after(queued("a"), queued("b", { notBefore: 5 }));
  const moved = (id: string, more: object = {}): EventBody => ({
    type: "message.rescheduled",
    data: { id, delivery: "steer", ...more },
  });
  expect(from(waiting, moved("a", { notBefore: 7 })).waiting).toStrictEqual([
    { id: "b", notBefore: 5 },
    { id: "a", notBefore: 7 },
  ]);
  expect(from(waiting, moved("b")).waiting).toStrictEqual([{ id: "a" }, { id: "b" }]);
  expect(from(waiting, moved("x"))).toBe(waiting);
  expect(from(after(), moved("x"))).toStrictEqual(after());
});

it("has messages that wait again after a rewind", () => {
  const rewound = (data: object): EventBody => ({
    type: "session.rewound",
    data: { to: 1, ...data },
  });
  const state = after(queued("a"));
  expect(from(state, rewound({ again: ["b", "c"] })).waiting).toStrictEqual([
    { id: "a" },
    { id: "b" },
    { id: "c" },
  ]);
  expect(from(state, rewound({}))).toBe(state);
});

it("counts turns and steps, and knows the model, the last turn's beginning and its end", () => {
  expect(after(turnStarted(3))).toMatchObject({ status: "running", turns: 3, lastTurnAt: 10 });
  const running = after(turnStarted(), stepStarted(1));
  expect(running).toMatchObject({ status: "running", steps: 1, model: "turnlog:scripted" });
  const ended = from(running, called("a"), turnEnded());
  expect(ended).toMatchObject({ status: "idle", lastEnd: "stop", steps: 1 });
  expect(ended).not.toHaveProperty("openCalls");
  expect(from(ended, stepStarted(2))).toMatchObject({ status: "running", steps: 2 });
  const closed = from(ended, { type: "session.closed", data: {} });
  expect(closed).toStrictEqual({ ...ended, status: "closed" });
});

it("waits for people or clients only if no call of the step runs", () => {
  const two = after(turnStarted(), stepStarted(1), called("a"), called("b"));
  expect(two.openCalls).toStrictEqual([
    { callId: "a", status: "open" },
    { callId: "b", status: "open" },
  ]);
  expect(from(two, asksApproval).status).toBe("running");
  expect(from(two, asksApproval, asksOutput("b"))).toMatchObject({
    status: "awaiting-approval",
    openCalls: [
      { callId: "a", status: "awaiting-approval" },
      { callId: "b", status: "awaiting-output" },
    ],
  });
  expect(from(two, asksOutput("a"), asksOutput("b")).status).toBe("awaiting-output");
  const answered: EventBody = {
    type: "tool.approval-answered",
    data: { ...ofCall, approved: true },
  };
  const started: EventBody = {
    type: "tool.started",
    data: { ...ofCall, toolName: "work", attempt: 1, effectId: "e" },
  };
  const asked = from(two, asksApproval, asksOutput("b"));
  for (const event of [answered, started])
    expect(from(asked, event)).toMatchObject({
      status: "running",
      openCalls: [{ callId: "a", status: "open" }, { callId: "b" }],
    });
});

it("loses a call at each of its ends", () => {
  const error = { name: "Error", message: "No." };
  const ends: readonly EventBody[] = [
    { type: "tool.succeeded", data: { ...ofCall, output: 1 } },
    { type: "tool.failed", data: { ...ofCall, error } },
    { type: "tool.denied", data: ofCall },
    { type: "tool.skipped", data: { ...ofCall, reason: "cancelled" } },
    { type: "tool.unknown", data: { ...ofCall, reason: "recovered" } },
  ];
  const open = after(turnStarted(), stepStarted(1), called("a"), called("b"), asksOutput("b"));
  for (const end of ends) {
    expect(from(open, end)).toMatchObject({
      status: "awaiting-output",
      openCalls: [{ callId: "b", status: "awaiting-output" }],
    });
    const one = from(after(turnStarted(), stepStarted(1), called("a")), end);
    const awaited = from(
      after(queued("m"), turnStarted(), stepStarted(1), called("a")),
      asksOutput("a"),
    );
    const { openCalls: _, ...rest } = awaited;
    expect(from(awaited, end)).toStrictEqual({ ...rest, status: "running" });
    expect(one).not.toHaveProperty("openCalls");
  }
});

it("ignores calls of the provider, calls that are told twice, and ends of unknown or earlier calls", () => {
  const open = after(turnStarted(), stepStarted(1), called("a"));
  const own: EventBody = {
    type: "part.tool-call",
    data: { toolCallId: "p", toolName: "search", providerExecuted: true },
  };
  for (const event of [own, called("a")]) expect(from(open, event)).toBe(open);
  for (const data of [
    { step: 1, callId: "x", output: 1 },
    { step: 2, callId: "a", output: 1 },
  ])
    expect(from(open, { type: "tool.succeeded", data })).toBe(open);
});

it("adds up what steps, retries and compactions have spent", () => {
  const tokens = ({ total }: SessionSummary): readonly number[] => [
    total.inputTokens,
    total.outputTokens,
  ];
  const error = { name: "Error", message: "No." };
  const ends: readonly EventBody[] = [
    stepFinished(1),
    { type: "step.failed", data: { step: 1, error, usage: spent } },
    { type: "step.interrupted", data: { step: 1, reason: "cancelled", usage: spent } },
    { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 0, error, usage: spent } },
    { type: "context.compaction-rejected", data: { strategy: "s", why: "failed", usage: spent } },
  ];
  for (const end of ends) {
    expect(tokens(after(stepStarted(1), end))).toEqual([10, 2]);
    expect(tokens(after(stepStarted(1), end, end))).toEqual([20, 4]);
  }
  const free: EventBody = {
    type: "step.retrying",
    data: { step: 1, attempt: 1, delayMs: 0, error },
  };
  expect(tokens(after(stepStarted(1), free))).toEqual([0, 0]);
});

it("counts what a fork shares apart from what it spends", () => {
  const forkedFrom = { session: "first", position: 4 };
  const forked = (more: object = {}): EventBody => ({
    type: "session.forked",
    data: { from: forkedFrom, ...more },
  });
  const shared = after(created({ parent }), turnStarted(), stepStarted(1), stepFinished(1));
  const fork = from(shared, forked());
  const total: TokenUsage = shared.total;
  expect(fork).toMatchObject({ forkedFrom, inherited: { step: 1, total }, agentFrom: parent });
  expect(fork.forkedFrom).toStrictEqual(forkedFrom);
  expect(fork.total).toStrictEqual(sessionSummary.initial.total);
  for (const gone of ["parent", "lastTurnAt"]) expect(fork).not.toHaveProperty(gone);
  const own = from(fork, stepStarted(2), stepFinished(2));
  expect(own).toMatchObject({ total: { inputTokens: 10 }, inherited: { total } });
  const late = from(fork, stepFinished(1));
  expect(late.total.inputTokens).toBe(0);
  expect(late.inherited).toMatchObject({ step: 1, total: { inputTokens: 20 } });
  const again = from(own, forked({ agent: { ...agent, digest: "d3", name: "other" } }));
  expect(again).toMatchObject({
    agentDigest: "d3",
    agent: "other",
    inherited: { step: 2, total: { inputTokens: 20 } },
  });
  expect(from(after(created()), forked())).not.toHaveProperty("agentFrom");
});

it("is the same from a snapshot on", () => {
  const state = after(
    created({ parent, metadata: { user: 1 }, agent: { ...agent, name: "n" } }),
    queued("a"),
    queued("b", { notBefore: 5 }),
    turnStarted(),
    stepStarted(1),
    called("a"),
    asksApproval,
    stepFinished(1),
    turnEnded(),
    { type: "session.forked", data: { from: { session: "first", position: 4 } } },
    turnStarted(2),
    stepStarted(2),
    called("b"),
  );
  const stored: unknown = JSON.parse(JSON.stringify(state));
  expect(sessionSummary.schema.parse(stored)).toStrictEqual(state);
});
