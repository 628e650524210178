/** Answers for good, the calls of a step that are asked about, and the lineage that their ids come from. */

import { expect, it } from "vitest";
import { approvals } from "../../src/projections/approvals.ts";
import type { EventBody, SessionEvent } from "../../src/events/index.ts";

const asked = (callId: string, toolName: string): EventBody => ({
  type: "tool.approval-requested",
  data: { step: 1, callId, toolName },
});
const answered = (callId: string, approved: boolean, more: object = {}): EventBody => ({
  type: "tool.approval-answered",
  data: { step: 1, callId, approved, ...more },
});
const forked: EventBody<"session.forked"> = {
  type: "session.forked",
  data: { from: { session: "parent", position: 4 } },
};

function folded(...bodies: readonly EventBody[]) {
  return bodies.reduce((state, body, index) => {
    const event: SessionEvent = { position: index + 1, time: 1, ...body };
    return approvals.fold(state, event);
  }, approvals.initial);
}

it("an answer for good is kept by tool, and nothing else is lost by it", () => {
  const before = folded(forked, asked("a", "pay"), asked("b", "mail"));
  const state = folded(
    forked,
    asked("a", "pay"),
    asked("b", "mail"),
    answered("a", false, { always: true, reason: "Too dear." }),
  );
  expect(state).toEqual({ ...before, always: { pay: { approved: false, reason: "Too dear." } } });
  expect(state.lineage).toEqual([{ session: "parent", position: 0 }]);
});

it("an answer for once is not kept, nor one to a call that nobody asked about", () => {
  const once = folded(asked("a", "pay"), answered("a", true));
  const other = folded(asked("a", "pay"), answered("b", true, { always: true }));
  expect([once.always, other.always]).toEqual([{}, {}]);
});

it("is forgotten for one tool, and kept for the others", () => {
  const state = folded(
    asked("a", "pay"),
    asked("b", "mail"),
    answered("a", true, { always: true }),
    answered("b", true, { always: true }),
    { type: "session.approval-forgotten", data: { toolName: "pay" } },
  );
  expect(state.always).toEqual({ mail: { approved: true } });
  expect(Object.keys(state.asked)).toEqual(["a", "b"]);
});
