/** What a session may do, by the machine alone: given its log, when something happens, then where it is and what is asked for. */
import { describe, expect, it } from "vitest";
import { type EventBody, entriesOf } from "../../src/events/index.ts";
import type { StructuralType } from "../../src/machines/structural-events.ts";
import { openCalls } from "../../src/machines/index.ts";
import {
  initialMachineState,
  isBetweenTurns,
  isWaiting,
  machineFold,
  resolveMachineState,
} from "../../src/machines/machine-fold.ts";
import {
  answered,
  approvalRequested,
  call,
  calling,
  cancelRequested,
  closed,
  compacted,
  compactionRejected,
  compactionStarted,
  delivered,
  denied,
  failed,
  finished,
  given,
  interrupted,
  message,
  recovered,
  resumed,
  retrying,
  skipped,
  stepFailed,
  stepStarted,
  succeeded,
  reached,
  toolStarted,
  turnEnded,
  turnStarted,
  twoCalls,
  unknown,
  withdrawn,
} from "./given.ts";

type Body = EventBody<StructuralType>;

const waiting = { idle: "waiting" } as const;
const boundary = { streaming: "boundary" } as const;
const inCall = { streaming: "calling" } as const;
const backingOff = { streaming: "backingOff" } as const;
const ending = { streaming: "ending" } as const;

describe("A session that is idle", () => {
  it("starts a turn when a message comes", () => {
    expect(given().when(message("m1"))).toMatchObject({
      ...reached({ idle: "starting" }, "startTurn"),
      context: { queue: [{ id: "m1", delivery: "follow-up" }] },
    });
  });

  it("begins a step when the turn has started", () => {
    expect(given(message("m1")).when(turnStarted(7, 3))).toMatchObject({
      ...reached(boundary, "startStep"),
      context: {
        turn: 7,
        maxSteps: 3,
        stepsInTurn: 0,
      },
    });
  });

  it("calls the model when the step has started, and no message waits any more", () => {
    expect(given(message("m1"), turnStarted()).when(delivered("m1"), stepStarted())).toMatchObject({
      ...reached(inCall, "callModel"),
      context: { queue: [], step: 1, attempt: 1, stepsInTurn: 1 },
    });
  });

  it.each(["cancelled", "failed", "interrupted", "timed-out", "repeating"] as const)(
    "holds back what waits after a turn that was %s, until somebody says to go on",
    (reason) => {
      const held = [...calling, message("m2"), cancelRequested, interrupted, turnEnded(reason)];
      expect(given(held).when()).toMatchObject({ ...reached(waiting), context: { held: true } });
      expect(given(held).when(resumed)).toMatchObject(reached({ idle: "starting" }, "startTurn"));
      expect(given(held).when(message("m3"))).toMatchObject(
        reached({ idle: "starting" }, "startTurn"),
      );
    },
  );

  it("starts the next turn at once when one has ended well and a message waits", () => {
    expect(given(calling, message("m2"), finished("stop")).when(turnEnded("stop"))).toMatchObject(
      reached({ idle: "starting" }, "startTurn"),
    );
  });

  it("forgets a message that was withdrawn", () => {
    expect(
      given(calling, message("m2"), cancelRequested, interrupted, turnEnded("cancelled")).when(
        withdrawn("m2"),
        resumed,
      ),
    ).toMatchObject({ ...reached(waiting), context: { queue: [] } });
  });

  it("compacts when it is asked to, and is idle again however that ends", () => {
    expect(given(compactionStarted).when(compacted)).toMatchObject(reached(waiting));
    expect(given(compactionStarted).when(compactionRejected)).toMatchObject(reached(waiting));
    expect(given().when(compactionStarted)).toMatchObject(reached("compacting", "compact"));
  });

  it("compacts again after a compaction that was cancelled, which says nothing of the next one", () => {
    const again = given(compactionStarted, cancelRequested, compactionRejected);
    expect(again.when(compactionStarted)).toMatchObject({
      ...reached("compacting", "compact"),
      context: { stopping: undefined, skipCalls: false },
    });
  });

  it("is over for good when it is closed", () => {
    expect(given().when(closed)).toMatchObject(reached("closed"));
    expect(
      given(closed).when(message("m1"), turnStarted(), resumed, recovered("continue")),
    ).toMatchObject(reached("closed"));
  });
});

describe("While the model is called", () => {
  it("the turn ends when the model has nothing more to do", () => {
    expect(given(calling).when(finished("stop"))).toMatchObject(reached(ending, "endTurn: stop"));
  });

  it.each(["length", "content-filter"] as const)(
    "the turn ends by %s where that cut the reply",
    (reason) => {
      expect(given(calling).when(finished(reason))).toMatchObject(
        reached(ending, `endTurn: ${reason}`),
      );
    },
  );

  it("a steering message makes one step more, one that is to follow does not", () => {
    expect(given(calling, message("m2", "steer")).when(finished("stop"))).toMatchObject(
      reached(boundary, "startStep"),
    );
    expect(given(calling, message("m2")).when(finished("stop"))).toMatchObject(
      reached(ending, "endTurn: stop"),
    );
  });

  it("a steering message makes that step also after a reply that was cut off", () => {
    expect(given(calling, message("m2", "steer")).when(finished("length"))).toMatchObject(
      reached(boundary, "startStep"),
    );
  });

  it("a limit on steps ends the turn even so", () => {
    expect(
      given(
        message("m1"),
        turnStarted(1, 1),
        delivered("m1"),
        stepStarted(),
        message("m2", "steer"),
      ).when(finished("stop")),
    ).toMatchObject(reached(ending, "endTurn: max-steps"));
  });

  it("the tools run that it asked for, when it has ended by itself", () => {
    expect(given(calling, call("a")).when(finished("tool-calls"))).toMatchObject(
      reached("tools", "runTools"),
    );
    expect(given(calling, call("a")).when(finished("stop"))).toMatchObject(
      reached("tools", "runTools"),
    );
  });

  it("tools of a reply that was cut off are skipped, and the turn ends by that", () => {
    expect(given(calling, call("a")).when(finished("length"))).toMatchObject({
      ...reached("tools", "runTools"),
      context: { skipCalls: true, stopping: "length" },
    });
    expect(given(calling, call("a"), finished("length")).when(skipped("a"))).toMatchObject(
      reached(ending, "endTurn: length"),
    );
  });

  it("the provider's own calls are not ours to run", () => {
    expect(given(calling, call("web", true)).when(finished("stop"))).toMatchObject(
      reached(ending, "endTurn: stop"),
    );
  });

  it("a call id that the model uses twice in a step is one call", () => {
    expect(given(calling, call("a"), call("a")).when(finished("tool-calls"))).toMatchObject(
      reached("tools", "runTools"),
    );
    expect(
      given(calling, call("a"), call("a"), finished("tool-calls"), toolStarted("a")).when(
        succeeded("a"),
      ),
    ).toMatchObject(reached(boundary, "startStep"));
  });

  it("a failed call fails the turn, or is tried again after a while", () => {
    expect(given(calling).when(stepFailed)).toMatchObject(reached(ending, "endTurn: failed"));
    expect(given(calling).when(retrying)).toMatchObject(reached(backingOff, "backOff"));
    expect(given(calling, retrying).when(stepStarted(1, 2))).toMatchObject({
      ...reached(inCall, "callModel"),
      context: { step: 1, attempt: 2, stepsInTurn: 1 },
    });
    expect(given(calling, retrying).when(stepFailed)).toMatchObject(
      reached(ending, "endTurn: failed"),
    );
  });

  it("a failure after calls skips them before the turn ends", () => {
    expect(given(calling, call("a")).when(stepFailed)).toMatchObject({
      ...reached("tools", "runTools"),
      context: {
        skipCalls: true,
      },
    });
    expect(given(calling, call("a"), stepFailed).when(skipped("a"))).toMatchObject(
      reached(ending, "endTurn: failed"),
    );
  });

  it("a cancel stops it, and it says itself when it has stopped", () => {
    expect(given(calling).when(cancelRequested)).toMatchObject(reached(inCall, "abort"));
    expect(given(calling, cancelRequested).when(interrupted)).toMatchObject(
      reached(ending, "endTurn: cancelled"),
    );
    expect(given(calling, retrying).when(cancelRequested)).toMatchObject(
      reached(backingOff, "abort"),
    );
    expect(given(calling, retrying, cancelRequested).when(interrupted)).toMatchObject(
      reached(ending, "endTurn: cancelled"),
    );
  });

  it("a cancel that comes too late for the model still ends the turn", () => {
    expect(given(calling, cancelRequested).when(finished("stop"))).toMatchObject(
      reached(ending, "endTurn: cancelled"),
    );
    expect(given(calling, call("a"), cancelRequested).when(finished("tool-calls"))).toMatchObject({
      ...reached("tools", "runTools"),
      context: { skipCalls: true },
    });
  });

  it("messages wait", () => {
    expect(
      given(calling).when(message("m2"), message("m3", "steer"), withdrawn("m2")),
    ).toMatchObject({ ...reached(inCall), context: { queue: [{ id: "m3", delivery: "steer" }] } });
  });
});

describe("While tools run", () => {
  it("the next step comes when every call has ended, in whatever way", () => {
    expect(given(twoCalls).when(toolStarted("a"), succeeded("a"))).toMatchObject(reached("tools"));
    for (const end of [succeeded("b"), failed("b"), unknown("b")]) {
      expect(
        given(twoCalls, toolStarted("a"), failed("a"), toolStarted("b")).when(end),
      ).toMatchObject(reached(boundary, "startStep"));
    }
    for (const end of [denied("b"), skipped("b"), failed("b")]) {
      expect(given(twoCalls, toolStarted("a"), succeeded("a")).when(end)).toMatchObject(
        reached(boundary, "startStep"),
      );
    }
  });

  it("an answer to a question of approval is acted on, and only once", () => {
    expect(given(twoCalls).when(approvalRequested("a"))).toMatchObject({
      ...reached("tools"),
      context: {
        calls: [{ a: "awaiting-approval", b: "waiting" }],
      },
    });
    expect(given(twoCalls, approvalRequested("a")).when(answered("a", true))).toMatchObject({
      ...reached("tools", "runTools"),
      context: { calls: [{ a: "approved", b: "waiting" }] },
    });
    expect(
      given(twoCalls, approvalRequested("a"), answered("a", true)).when(answered("a", false)),
    ).toMatchObject({
      ...reached("tools", "runTools"),
      context: { calls: [{ a: "approved", b: "waiting" }] },
    });
    expect(given(twoCalls, approvalRequested("b")).when(answered("b", false))).toMatchObject({
      ...reached("tools", "runTools"),
      context: { calls: [{ a: "waiting", b: "refused" }] },
    });
  });

  it("what is said of a call of another step, or of no call, changes nothing", () => {
    expect(
      given(twoCalls, toolStarted("a")).when(
        succeeded("a", 2),
        toolStarted("b", 9),
        succeeded("nobody"),
      ),
    ).toMatchObject({ ...reached("tools"), context: { calls: [{ a: "running", b: "waiting" }] } });
  });

  it("a cancel stops those that run and skips the others; then the turn ends", () => {
    expect(given(twoCalls, toolStarted("a")).when(cancelRequested)).toMatchObject({
      ...reached("tools", "abort", "runTools"),
      context: { stopping: "cancelled", skipCalls: true },
    });
    expect(
      given(twoCalls, toolStarted("a"), cancelRequested, skipped("b")).when(unknown("a")),
    ).toMatchObject(reached(ending, "endTurn: cancelled"));
  });

  it("a turn that was stopping already keeps its reason when it is cancelled", () => {
    expect(given(calling, call("a"), finished("length")).when(cancelRequested)).toMatchObject({
      ...reached("tools", "abort", "runTools"),
      context: { stopping: "length" },
    });
  });

  it("the limit on steps is looked at before the next one", () => {
    expect(
      given(message("m1"), turnStarted(1, 1), delivered("m1"), stepStarted(), call("a")).when(
        finished("tool-calls"),
        toolStarted("a"),
        succeeded("a"),
      ),
    ).toMatchObject(reached(ending, "runTools", "endTurn: max-steps"));
  });

  it("the next step has no calls yet, though it may use the same ids", () => {
    expect(
      given(twoCalls, succeeded("a"), succeeded("b"), stepStarted(2)).when(call("a")),
    ).toMatchObject({ ...reached(inCall), context: { calls: [{ a: "waiting" }] } });
  });
});

describe("After the process has died", () => {
  it("a turn that was about to start is started, or held back, as the policy says", () => {
    expect(given(message("m1")).when(recovered("continue"))).toMatchObject(
      reached({ idle: "starting" }, "startTurn"),
    );
    expect(given(message("m1")).when(recovered("stop"))).toMatchObject({
      ...reached(waiting),
      context: { held: true },
    });
  });

  it("a step that was about to begin begins, or the turn ends as interrupted", () => {
    expect(given(message("m1"), turnStarted()).when(recovered("continue"))).toMatchObject(
      reached(boundary, "startStep"),
    );
    expect(given(message("m1"), turnStarted()).when(recovered("stop"))).toMatchObject(
      reached(ending, "endTurn: interrupted"),
    );
  });

  it("a cut-off call of the model is put on record first, then the turn continues or ends", () => {
    expect(given(calling).when(recovered("continue"))).toMatchObject(reached(inCall, "settle"));
    expect(given(calling, recovered("continue")).when(interrupted)).toMatchObject(
      reached(boundary, "startStep"),
    );
    expect(given(calling, recovered("stop")).when(interrupted)).toMatchObject(
      reached(ending, "endTurn: interrupted"),
    );
    expect(given(calling, retrying).when(recovered("continue"))).toMatchObject(
      reached(backingOff, "settle"),
    );
    expect(given(calling, retrying, recovered("continue")).when(interrupted)).toMatchObject(
      reached(boundary, "startStep"),
    );
  });

  it("calls of a reply that was cut off are never run", () => {
    expect(given(calling, call("a"), recovered("continue")).when(interrupted)).toMatchObject({
      ...reached("tools", "runTools"),
      context: { skipCalls: true },
    });
  });

  it("tools that ran are settled, those that did not are run or skipped as the policy says", () => {
    expect(given(twoCalls, toolStarted("a")).when(recovered("continue"))).toMatchObject({
      ...reached("tools", "settle", "runTools"),
      context: { skipCalls: false, calls: [{ a: "running", b: "waiting" }] },
    });
    expect(given(twoCalls, toolStarted("a")).when(recovered("stop"))).toMatchObject({
      ...reached("tools", "settle", "runTools"),
      context: { skipCalls: true, stopping: "interrupted" },
    });
  });

  it("a turn that was about to end ends, for the reason that it had", () => {
    expect(given(calling, finished("stop")).when(recovered("stop"))).toMatchObject(
      reached(ending, "endTurn: stop"),
    );
    expect(given(calling, cancelRequested, interrupted).when(recovered("continue"))).toMatchObject(
      reached(ending, "endTurn: cancelled"),
    );
  });

  it("a turn that was being cancelled stays cancelled, whatever the policy", () => {
    expect(
      given(twoCalls, toolStarted("a"), cancelRequested, recovered("stop"), unknown("a")).when(
        skipped("b"),
      ),
    ).toMatchObject(reached(ending, "endTurn: cancelled"));
  });

  it("a compaction is given up, and what it had come from continues", () => {
    expect(given(compactionStarted).when(recovered("stop"))).toMatchObject(
      reached("compacting", "settle"),
    );
    expect(given(compactionStarted, recovered("stop")).when(compactionRejected)).toMatchObject(
      reached(waiting),
    );
    expect(
      given(message("m1"), turnStarted(), compactionStarted, recovered("continue")).when(
        compactionRejected,
      ),
    ).toMatchObject(reached(boundary, "startStep"));
    expect(
      given(message("m1"), turnStarted(), compactionStarted, recovered("stop")).when(
        compactionRejected,
      ),
    ).toMatchObject(reached(ending, "endTurn: interrupted"));
  });
});

describe("A compaction between two steps", () => {
  it("goes back to the step that was about to begin", () => {
    expect(given(message("m1"), turnStarted()).when(compactionStarted)).toMatchObject(
      reached("compacting", "compact"),
    );
    expect(given(message("m1"), turnStarted(), compactionStarted).when(compacted)).toMatchObject(
      reached(boundary, "startStep"),
    );
  });

  it("is stopped by a cancel, which ends the turn when it has stopped", () => {
    expect(
      given(message("m1"), turnStarted(), compactionStarted).when(cancelRequested),
    ).toMatchObject(reached("compacting", "abort"));
    expect(
      given(message("m1"), turnStarted(), compactionStarted, cancelRequested).when(
        compactionRejected,
      ),
    ).toMatchObject(reached(ending, "endTurn: cancelled"));
  });
});

it("a session waits between turns, and not while the next one is due or runs, or when it is closed", () => {
  const asked = (...history: readonly Body[]): readonly boolean[] => {
    const { value, context } = given(...history).when();
    const state = resolveMachineState({ value, context });
    return [isWaiting(state), isBetweenTurns(state)];
  };
  expect(asked()).toEqual([true, true]);
  expect(asked(message("m1"))).toEqual([false, true]);
  for (const busy of [[...calling], [...twoCalls], [compactionStarted], [closed]])
    expect(asked(...busy)).toEqual([false, false]);
});

it("the calls that are open, and those of them that wait for somebody, are counted from event to event", () => {
  const counts = (...bodies: readonly Body[]): unknown => {
    const { context } = given(twoCalls).when(...bodies);
    const live = openCalls(context);
    expect(openCalls({ calls: structuredClone(context.calls) })).toEqual(live);
    return live;
  };
  const asked = approvalRequested("a");
  expect(counts()).toEqual({ open: 2, asking: 0 });
  expect(counts(asked)).toEqual({ open: 2, asking: 1 });
  expect(counts(asked, approvalRequested("b"))).toEqual({ open: 2, asking: 2 });
  expect(counts(asked, answered("a", true))).toEqual({ open: 2, asking: 0 });
  expect(counts(asked, answered("a", false), denied("a"))).toEqual({ open: 1, asking: 0 });
  expect(counts(asked, skipped("a"), toolStarted("b"))).toEqual({ open: 1, asking: 0 });
  const output: EventBody<"tool.output-requested"> = {
    type: "tool.output-requested",
    data: { step: 1, callId: "b", toolName: "add" },
  };
  expect(counts(asked, output)).toEqual({ open: 2, asking: 2 });
  expect(counts(output, succeeded("b"))).toEqual({ open: 1, asking: 0 });
});

it("a call of thousands is written anew with a few others, at each of its events", () => {
  const calls = Array.from({ length: 4000 }, (_, index) => call(`c${index}`));
  const many = [...calling, ...calls, finished("tool-calls")];
  let state = initialMachineState;
  let position = 0;
  let written = 0;
  for (const body of [...many, ...calls.map((_, index) => toolStarted(`c${index}`))]) {
    const before = new Set(state.context.calls);
    state = machineFold(state, { position: ++position, time: position, ...body }).snapshot;
    for (const chunk of state.context.calls)
      if (!before.has(chunk)) written += Object.keys(chunk).length;
  }
  expect(entriesOf(state.context.calls)).toHaveLength(calls.length);
  // Of all calls at each event it would be 4,000 on average.
  expect(written / (2 * calls.length)).toBeLessThan(300);
});
