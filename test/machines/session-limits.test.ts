/** What stops a turn, by the machine alone: a cancel in both modes, a limit with and without a last step, a death too many. */

import { describe, expect, it } from "vitest";
import {
  call,
  calling,
  cancelAfterTools,
  cancelRequested,
  finished,
  given,
  interrupted,
  limitReached,
  message,
  reached,
  recovered,
  rescheduled,
  retrying,
  skipped,
  stepStarted,
  succeeded,
  toolStarted,
  turnEnded,
  turnStarted,
  twoCalls,
  unknown,
} from "./given.ts";

const boundary = { streaming: "boundary" } as const;
const inCall = { streaming: "calling" } as const;
const ending = { streaming: "ending" } as const;
const lastStep = stepStarted(2);

describe("A turn that is to stop after its tools", () => {
  it("lets the model end its step and the tools run, and takes no other step", () => {
    const stopping = given(calling, call("a"), cancelAfterTools);
    expect(stopping.when()).toMatchObject(reached(inCall));
    expect(stopping.when(finished("tool-calls"))).toMatchObject({
      ...reached("tools", "runTools"),
      context: { stopping: "cancelled", skipCalls: false },
    });
    expect(stopping.when(finished("tool-calls"), toolStarted("a"), succeeded("a"))).toMatchObject(
      reached(ending, "runTools", "endTurn: cancelled"),
    );
  });

  it("looks at its calls again, since no approval is asked for any more", () => {
    expect(given(twoCalls).when(cancelAfterTools)).toMatchObject(reached("tools", "runTools"));
  });

  it("is hurried by a cancel that does not wait", () => {
    expect(given(twoCalls, toolStarted("a"), cancelAfterTools).when(cancelRequested)).toMatchObject(
      {
        ...reached("tools", "abort", "runTools"),
        context: { stopping: "cancelled", skipCalls: true },
      },
    );
  });

  it("does not wait for another attempt", () => {
    expect(given(calling, retrying).when(cancelAfterTools, interrupted)).toMatchObject(
      reached(ending, "abort", "endTurn: cancelled"),
    );
  });
});

describe("A turn that has come to a limit", () => {
  it.each([
    ["time", "timed-out"],
    ["repetition", "repeating"],
    ["stop-condition", "stop-condition"],
    ["budget", "out-of-budget"],
  ] as const)("of %s stops what runs and ends as %s", (limit, reason) => {
    expect(given(calling, call("a")).when(limitReached(limit), interrupted)).toMatchObject(
      reached("tools", "abort", "runTools"),
    );
    expect(
      given(calling, call("a")).when(limitReached(limit), interrupted, skipped("a")).effects,
    ).toContain(`endTurn: ${reason}`);
    expect(given(message("m1"), turnStarted()).when(limitReached(limit))).toMatchObject(
      reached(ending, `endTurn: ${reason}`),
    );
  });

  it("takes one step more where that is granted, and ends for the limit whatever the model says", () => {
    const granted = given(calling, limitReached("time", true), interrupted);
    expect(granted.when()).toMatchObject(reached(boundary));
    expect(granted.when(lastStep, finished("stop", 2))).toMatchObject(
      reached(ending, "callModel", "endTurn: timed-out"),
    );
  });

  it("runs no tools in that step", () => {
    const granted = given(calling, limitReached("time", true), interrupted, lastStep, call("b"));
    expect(granted.when(finished("tool-calls", 2))).toMatchObject({
      ...reached("tools", "runTools"),
      context: { skipCalls: true },
    });
  });

  it("takes that step though it has taken as many as it may", () => {
    const only = given(
      message("m1"),
      turnStarted(1, 1),
      stepStarted(),
      limitReached("time", true),
      interrupted,
    );
    expect(only.when()).toMatchObject(reached(boundary));
  });

  it("waits for the tools that were asked to stop before that step", () => {
    const told = given(twoCalls, toolStarted("a")).when(limitReached("time", true), skipped("b"));
    expect(told).toMatchObject(reached("tools", "abort", "runTools"));
    const left = given(twoCalls, toolStarted("a"), limitReached("time", true), skipped("b"));
    expect(left.when(unknown("a"))).toMatchObject(reached(boundary, "startStep"));
  });

  it("is cancelled in that step as in any other", () => {
    const granted = given(calling, limitReached("time", true), interrupted, lastStep);
    expect(granted.when(cancelRequested).effects).toEqual(["abort"]);
    expect(granted.when(cancelAfterTools, cancelRequested).effects).toEqual(["abort"]);
  });

  it("leaves no last step to the next turn", () => {
    const ended = given(calling, limitReached("time", true), interrupted, lastStep).when(
      finished("stop", 2),
      turnEnded("timed-out"),
    );
    expect(ended.context).toMatchObject({ lastStep: undefined, held: true });
  });
});

describe("A turn that is about to end", () => {
  it.each([
    ["a cancel", cancelRequested, "cancelled"],
    ["a limit", limitReached("time"), "timed-out"],
  ] as const)("ends by %s that comes before its end is recorded", (_, stop, reason) => {
    expect(given(calling, finished("stop")).when(stop)).toMatchObject(
      reached(ending, `endTurn: ${reason}`),
    );
  });
});

describe("What happens in between", () => {
  it("calls that are given up before a retry need no tools", () => {
    const abandoned = given(calling, call("a"), skipped("a"), retrying);
    expect(abandoned.when(cancelRequested, interrupted)).toMatchObject(
      reached(ending, "abort", "endTurn: cancelled"),
    );
  });

  it("each recovery of a turn is counted, and the next turn begins to count anew", () => {
    const dying = given(calling);
    expect(dying.when(recovered("continue"), recovered("continue")).context.recoveries).toBe(2);
    const after = dying.when(
      recovered("stop"),
      interrupted,
      turnEnded("interrupted"),
      turnStarted(2),
    );
    expect(after.context.recoveries).toBe(0);
  });

  it("a message that waits moves to the other kind of delivery and keeps its place", () => {
    const waiting = given(calling, message("m2"), message("m3", "steer"));
    expect(waiting.when(rescheduled("m2", "steer")).context.queue).toEqual([
      { id: "m2", delivery: "steer" },
      { id: "m3", delivery: "steer" },
    ]);
    expect(waiting.when(rescheduled("m4", "steer")).context.queue).toHaveLength(2);
  });
});
