/** What a session whose process died was doing, as `session.recovered` tells it. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { inFlight } from "../../src/state/recovery.ts";
import { asked, called, stateOf, stepFinished, stepStarted } from "../projections/session-of.ts";

const calls = [
  ...asked("Go."),
  stepStarted(1),
  called("a"),
  called("b"),
  called("c"),
  stepFinished(1, "tool-calls"),
] as const;

function started(callId: string): EventBody {
  return {
    type: "tool.started",
    data: { step: 1, callId, toolName: "work", attempt: 1, effectId: callId },
  };
}

const done: EventBody = { type: "tool.succeeded", data: { step: 1, callId: "a", output: 1 } };

it.each<[string, readonly EventBody[], object | undefined]>([
  ["a turn about to begin", asked("Go.").slice(0, 1), { kind: "nothing" }],
  ["a turn without a step", asked("Go."), { kind: "boundary", turn: 1 }],
  ["a model call", [...asked("Go."), stepStarted(1)], { kind: "streaming", turn: 1, step: 1 }],
  [
    "a compaction",
    [
      ...asked("Go.").slice(0, 1),
      { type: "context.compaction-started", data: { trigger: "asked", strategy: "test" } },
    ],
    { kind: "compacting" },
  ],
  [
    "calls, of which those that ended are none",
    [...calls, started("a"), done, started("b")],
    { kind: "tools", turn: 1, step: 1, started: ["b"], waiting: ["c"] },
  ],
  [
    "a step whose calls have all ended",
    [
      ...asked("Go."),
      stepStarted(1),
      called("a"),
      stepFinished(1, "tool-calls"),
      started("a"),
      done,
    ],
    { kind: "boundary", turn: 1 },
  ],
])("was %s", (_what, events, found) => {
  expect(inFlight(stateOf(...events))).toEqual(found);
});

it("was nothing that a recovery ends where the session only waits for an answer", () => {
  const request = (callId: string): EventBody => ({
    type: "tool.output-requested",
    data: { step: 1, callId, toolName: "work" },
  });
  expect(inFlight(stateOf())).toBeUndefined();
  expect(
    inFlight(stateOf(...calls, started("a"), done, ...["b", "c"].map(request))),
  ).toBeUndefined();
});
