/** Messages for later, rewinds, results that a provider brings later, and stored states, by the machine alone. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import type { StructuralType } from "../../src/machines/structural-events.ts";
import {
  machineFold,
  resolveMachineState,
  type MachineState,
} from "../../src/machines/machine-fold.ts";
import {
  call,
  calling,
  cancelRequested,
  delivered,
  finished,
  given,
  limitReached,
  message,
  reached,
  rescheduled,
  stepStarted,
  succeeded,
  turnEnded,
  turnStarted,
  twoCalls,
  withdrawn,
} from "./given.ts";

type Body = EventBody<StructuralType>;

const waiting = { idle: "waiting" } as const;
const starting = { idle: "starting" } as const;
const ended = (reason: "stop" | "cancelled"): readonly Body[] => [
  ...calling,
  finished("stop"),
  turnEnded(reason),
];
const later = (id: string): Body => ({
  type: "message.queued",
  data: { id, content: "Hello", delivery: "steer", notBefore: 9 },
});
const postponed = (id: string): Body => ({
  type: "message.rescheduled",
  data: { id, delivery: "follow-up", notBefore: 9 },
});
const rewound = (data: Omit<EventBody<"session.rewound">["data"], "to">): Body => ({
  type: "session.rewound",
  data: { to: 1, ...data },
});

function deferring(
  finishReason: "tool-calls" | "error" | "interrupted",
  ...deferred: readonly string[]
): Body {
  const usage = { basis: "estimated", inputTokens: 0, outputTokens: 0 } as const;
  return { type: "step.finished", data: { step: 1, finishReason, usage, response: {}, deferred } };
}

describe("A message for later", () => {
  it("starts no turn and is no part of the queue", () => {
    expect(given().when(later("m1"))).toMatchObject({
      ...reached(waiting),
      context: { queue: [], later: ["m1"] },
    });
  });

  it("waits like any other from its time on, behind those that waited, and starts a turn", () => {
    expect(given(later("m1"), later("m2")).when(rescheduled("m1", "steer"))).toMatchObject({
      ...reached(starting, "startTurn"),
      context: { queue: [{ id: "m1", delivery: "steer" }], later: ["m2"] },
    });
    const busy = given(calling, message("m2"), later("m3")).when(rescheduled("m3", "follow-up"));
    expect(busy.context).toMatchObject({
      queue: [
        { id: "m2", delivery: "follow-up" },
        { id: "m3", delivery: "follow-up" },
      ],
      later: [],
    });
  });

  it("ends the hold on a queue when its time has come, and not before", () => {
    const held = given(ended("cancelled"), later("m2"));
    expect(held.when()).toMatchObject({ ...reached(waiting), context: { held: true } });
    expect(held.when(rescheduled("m2", "steer"))).toMatchObject(reached(starting, "startTurn"));
    expect(held.when(postponed("m2"))).toMatchObject({
      ...reached(waiting),
      context: { held: true },
    });
  });

  it("stays one when its time is moved, and is gone when it is withdrawn", () => {
    expect(given(later("m1")).when(postponed("m1"))).toMatchObject({
      ...reached(waiting),
      context: { queue: [], later: ["m1"] },
    });
    expect(given(later("m1"), later("m2")).when(withdrawn("m1")).context.later).toEqual(["m2"]);
  });

  it("may be one that waited, and no other moves", () => {
    const { context } = given(calling, message("m2"), message("m3")).when(postponed("m2"));
    expect(context).toMatchObject({ queue: [{ id: "m3" }], later: ["m2"] });
  });

  it("is none that is not known", () => {
    const { context } = given(calling, message("m2")).when(
      postponed("m9"),
      rescheduled("m8", "steer"),
    );
    expect(context).toMatchObject({ queue: [{ id: "m2", delivery: "follow-up" }], later: [] });
  });

  it("changes its delivery where it waits, and that of no other", () => {
    const { context } = given(calling, message("m2"), message("m3")).when(
      rescheduled("m3", "steer"),
    );
    expect(context.queue).toEqual([
      { id: "m2", delivery: "follow-up" },
      { id: "m3", delivery: "steer" },
    ]);
  });
});

describe("A rewind", () => {
  it("lets the messages of the turn that is left wait again, before those that came since", () => {
    const { value, context, effects } = given(ended("cancelled"), later("m9")).when(
      rewound({ again: ["m1", "m2"] }),
    );
    expect(context.queue).toEqual([
      { id: "m1", delivery: "follow-up" },
      { id: "m2", delivery: "follow-up" },
    ]);
    expect({ value, effects }).toEqual(reached(starting, "startTurn"));
    const held = [...calling, message("m3"), finished("stop"), turnEnded("cancelled")];
    expect(given(held).when(rewound({ again: ["m1"] }))).toMatchObject({
      ...reached(starting, "startTurn"),
      context: { queue: [{ id: "m1" }, { id: "m3" }], held: false },
    });
  });

  it("keeps a hold, and keeps none that was not there", () => {
    expect(given(ended("cancelled")).when(rewound({})).context.held).toBe(true);
    expect(given(ended("stop")).when(rewound({})).context.held).toBe(false);
  });

  it("waits for the message that an edit brings", () => {
    const edit = { replaces: "m1", by: "m2" };
    const edited = given(ended("stop")).when(rewound({ edit, again: ["m0"] }));
    expect(edited).toMatchObject({ ...reached(waiting), context: { held: true } });
    expect(given(ended("stop"), rewound({ edit })).when(message("m2"))).toMatchObject(
      reached(starting, "startTurn"),
    );
  });
});

describe("A step whose results its provider brings later", () => {
  it("is followed by another one", () => {
    const one = given(calling, call("p", true));
    expect(one.when(deferring("tool-calls", "p"))).toMatchObject(
      reached({ streaming: "boundary" }, "startStep"),
    );
    expect(one.when(deferring("tool-calls"))).toMatchObject(
      reached({ streaming: "ending" }, "endTurn: stop"),
    );
  });

  it.each(["error", "interrupted"] as const)("is not, if it ended by %s", (reason) => {
    const { value } = given(calling, call("p", true)).when(deferring(reason, "p"));
    expect(value).toEqual({ streaming: "ending" });
  });

  it("is followed by one only, unless that one defers again", () => {
    const next = given(calling, call("p", true), deferring("tool-calls", "p"), stepStarted(2));
    expect(next.when(finished("stop", 2))).toMatchObject(
      reached({ streaming: "ending" }, "endTurn: stop"),
    );
  });
});

it("a call that a last step makes is skipped, and a last step is begun once", () => {
  const last = given(twoCalls, limitReached("time", true));
  expect(last.when()).toMatchObject({
    value: "tools",
    context: { skipCalls: true, lastStep: { reason: "timed-out", begun: false } },
  });
});

/** JSON has no undefined. */
function asStored(state: MachineState): MachineState {
  return JSON.parse(JSON.stringify(state)) as MachineState;
}

it.each([
  ["at rest", given(ended("cancelled"), later("m2")).when()],
  ["with calls", given(twoCalls, cancelRequested).when()],
  ["before its last step", given(twoCalls, limitReached("time", true)).when()],
  ["which awaits results", given(calling, call("p", true)).when(deferring("tool-calls", "p"))],
  ["at a boundary", given(message("m1"), turnStarted(), delivered("m1")).when()],
])("a state %s is stored and read as it is", (_, { value, context }) => {
  const read = resolveMachineState(asStored({ value, context }));
  expect({ value: read.value, context: read.context }).toStrictEqual({ value, context });
});

it("a stored state counts the calls that have not ended as the live one does", () => {
  const { value, context } = given(twoCalls).when(succeeded("a"));
  const restored = resolveMachineState(asStored({ value, context }));
  const { snapshot, effects } = machineFold(restored, { position: 9, time: 1, ...succeeded("b") });
  expect(snapshot.value).toEqual({ streaming: "boundary" });
  expect(effects.map(({ type }) => type)).toEqual(["startStep"]);
});
