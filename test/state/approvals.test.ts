/** What calls wait for, as lists: every question and every request of a session, with what became of it. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import {
  approvalOfId,
  outputRequests,
  requestedCalls,
  sessionApprovals,
  waitingApprovals,
  waitingOutputs,
} from "../../src/state/approvals.ts";
import { asked, called, stateOf, stepFinished, stepStarted } from "../projections/session-of.ts";

function question(step: number, callId: string): EventBody {
  return { type: "tool.approval-requested", data: { step, callId, toolName: "work" } };
}

function answer(step: number, callId: string, approved: boolean): EventBody {
  return { type: "tool.approval-answered", data: { step, callId, approved } };
}

function request(step: number, callId: string): EventBody {
  return { type: "tool.output-requested", data: { step, callId, toolName: "work" } };
}

function ended(step: number, callId: string): EventBody {
  return { type: "tool.succeeded", data: { step, callId, output: "done" } };
}

/** A step that calls two tools. */
function calling(step: number, ...ids: readonly string[]): readonly EventBody[] {
  return [stepStarted(step), ...ids.map((id) => called(id)), stepFinished(step, "tool-calls")];
}

it("the approvals of all steps are listed oldest first, each with its answer", () => {
  const state = stateOf(
    ...asked("Go."),
    ...calling(1, "a", "b"),
    question(1, "a"),
    question(1, "b"),
    answer(1, "a", true),
    answer(1, "b", false),
    {
      type: "tool.started",
      data: { step: 1, callId: "a", toolName: "work", attempt: 1, effectId: "e" },
    },
    ended(1, "a"),
    { type: "tool.denied", data: { step: 1, callId: "b" } },
    ...calling(2, "a", "b"),
    question(2, "a"),
    question(2, "b"),
    { type: "tool.skipped", data: { step: 2, callId: "a", reason: "cancelled" } },
  );
  expect(sessionApprovals("s", state)).toMatchObject([
    { step: 1, callId: "a", status: "approved", position: 8, answer: { position: 10 } },
    { step: 1, callId: "b", status: "denied", position: 9, answer: { position: 11 } },
    { step: 2, callId: "a", status: "lapsed", position: 19 },
    { step: 2, callId: "b", status: "waiting", position: 20 },
  ]);
});

it("a question is found by its id, whichever step asked it, and waits only while it is open", () => {
  const state = stateOf(
    ...asked("Go."),
    ...calling(1, "a"),
    question(1, "a"),
    answer(1, "a", true),
    ended(1, "a"),
    ...calling(2, "a", "b"),
    question(2, "a"),
    question(2, "b"),
  );
  const all = sessionApprovals("s", state);
  expect(new Set(all.map(({ approvalId }) => approvalId)).size).toBe(3);
  for (const one of all) expect(approvalOfId("s", state, one.approvalId)).toEqual(one);
  expect(approvalOfId("s", state, "none")).toBeUndefined();
  expect(waitingApprovals("s", state)).toEqual(all.slice(1));
});

it("the calls for clients are listed oldest first: answered, lapsed or waiting", () => {
  const state = stateOf(
    ...asked("Go."),
    ...calling(1, "a", "b"),
    request(1, "a"),
    request(1, "b"),
    { type: "tool.succeeded", data: { step: 1, callId: "a", output: "done", by: "ada" } },
    { type: "tool.skipped", data: { step: 1, callId: "b", reason: "cancelled" } },
    ...calling(2, "a", "b"),
    request(2, "a"),
    request(2, "b"),
  );
  const all = outputRequests("s", state);
  expect(all).toMatchObject([
    { step: 1, callId: "a", status: "answered", answered: { position: 10, time: 9000, by: "ada" } },
    { step: 1, callId: "b", status: "lapsed" },
    { step: 2, callId: "a", status: "waiting" },
    { step: 2, callId: "b", status: "waiting" },
  ]);
  expect(waitingOutputs("s", state)).toEqual(all.slice(2));
  const found = (id: string) => requestedCalls("s", state, id).map((one) => one.request);
  for (const one of all) expect(found(one.requestId)).toEqual([one]);
  expect(found("a")).toEqual([all[2], all[0]]);
});

it("what a stopping turn asked has lapsed, before its calls are skipped", () => {
  const log = [
    ...asked("Go."),
    ...calling(1, "a", "b"),
    question(1, "a"),
    request(1, "b"),
  ] as const;
  const waiting = stateOf(...log);
  expect(sessionApprovals("s", waiting)).toMatchObject([{ status: "waiting" }]);
  expect(outputRequests("s", waiting)).toMatchObject([{ status: "waiting" }]);
  const stopping = stateOf(...log, { type: "turn.cancel-requested", data: { turn: 1 } });
  expect(sessionApprovals("s", stopping)).toMatchObject([{ status: "lapsed" }]);
  expect(outputRequests("s", stopping)).toMatchObject([{ status: "lapsed" }]);
  expect([waitingApprovals("s", stopping), waitingOutputs("s", stopping)]).toEqual([[], []]);
});

it("what another session had asked and settled keeps its id in a fork, and all else has an id of its own", () => {
  const log = [
    ...asked("Go."),
    ...calling(1, "a", "b", "c", "d"),
    question(1, "a"),
    question(1, "b"),
    request(1, "c"),
    request(1, "d"),
    answer(1, "a", true),
    ended(1, "c"),
  ] as const;
  const [parent, fork] = [
    stateOf(...log),
    stateOf(...log, {
      type: "session.forked",
      data: { from: { session: "s", position: log.length } },
    }),
  ];
  const idsOf = (session: string, state: typeof parent): readonly string[] => [
    ...sessionApprovals(session, state).map(({ approvalId }) => approvalId),
    ...outputRequests(session, state).map(({ requestId }) => requestId),
  ];
  const [a = "", b = "", c = "", d = ""] = idsOf("s", parent);
  expect(idsOf("f", fork)).toEqual([a, b.replace("s~", "f~"), c, d.replace("s~", "f~")]);
});

it("a question that is asked again in its step leaves the one before lapsed", () => {
  const state = stateOf(...asked("Go."), ...calling(1, "a"), question(1, "a"), question(1, "a"));
  expect(sessionApprovals("s", state)).toMatchObject([
    { attempt: 1, status: "lapsed" },
    { attempt: 2, status: "waiting" },
  ]);
});
