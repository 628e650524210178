/**
 * The session statechart. Only logged events move it, so the state at a position is the fold of the
 * events up to it. The runtime interprets its effects. No clock, promise or random number changes a
 * state.
 */

import { assign, setup } from "xstate";
import type { TurnEndReason } from "../events/index.ts";
import * as changes from "./context-changes.ts";
import {
  endReason,
  hasOpenCalls,
  hasSteering,
  initialContext,
  type SessionContext,
  type SessionMachine,
} from "./session-context.ts";
import type { StructuralEvent } from "./structural-events.ts";

/**
 * The session statechart as an XState machine, for instance to be drawn or walked with `xstate/graph`.
 * @example
 * console.log(Object.keys(sessionMachine.config.states ?? {}));
 */
export const sessionMachine: SessionMachine = setup({
  // XState's way to declare types: the values are never read.
  types: {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    context: {} as SessionContext,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    events: {} as StructuralEvent,
  },
  actions: {
    // Effects: the runtime interprets them.
    startTurn: () => {},
    startStep: () => {},
    callModel: () => {},
    backOff: () => {},
    freeContext: () => {},
    runTools: () => {},
    compact: () => {},
    abort: () => {},
    settle: () => {},
    endTurn: (_, _params: { reason: TurnEndReason }) => {},

    // Changes of the context.
    enqueue: assign(changes.enqueue),
    dequeue: assign(changes.dequeue),
    reschedule: assign(changes.reschedule),
    beginTurn: assign(changes.beginTurn),
    beginStep: assign(changes.beginStep),
    addCall: assign(changes.addCall),
    finishStep: assign(changes.finishStep),
    setCall: assign(changes.setCall),
    skipCalls: assign({ skipCalls: true }),
    cancel: assign(changes.cancel),
    limit: assign(changes.limit),
    holdTurn: assign(changes.holdTurn),
    allow: assign(changes.allow),
    stopAsFailed: assign(changes.stopAsFailed),
    stopAtLimit: assign({ stopping: "max-steps" }),
    recover: assign(changes.recover),
    hold: assign(changes.hold),
    release: assign({ held: false }),
    rewind: assign(changes.rewind),
    finishTurn: assign(changes.finishTurn),
    // Between turns, a cancellation concerns the compaction only: an earlier one is cleared.
    compactFromIdle: assign({ compactingFrom: "idle", stopping: undefined, skipCalls: false }),
    compactFromBoundary: assign({ compactingFrom: "boundary" }),
    compactFromOverflow: assign({ compactingFrom: "overflow" }),
  },
  guards: {
    turnIsDue: ({ context }) => context.queue.length > 0 && !context.held,
    isStopping: ({ context }) => context.stopping !== undefined,
    isLastStepOver: ({ context }) => context.lastStep?.begun === true,
    hasLastStepLeft: ({ context }) => context.lastStep?.begun === false,
    hasLastStep: ({ context }) => context.lastStep !== undefined,
    stopsNow: ({ event }) =>
      event.type !== "turn.cancel-requested" || event.data.mode !== "after-tools",
    isAtStepLimit: ({ context }) => context.stepsInTurn >= context.maxSteps,
    hasOpenCalls: ({ context }) => hasOpenCalls(context),
    hasNoOpenCalls: ({ context }) => !hasOpenCalls(context),
    wasCutOff: ({ context }) => context.finishReason === undefined,
    hasSteering: ({ context }) => hasSteering(context),
    awaitsResults: ({ context }) => context.awaitsResults === true,
    cameFromIdle: ({ context }) => context.compactingFrom === "idle",
    cameFromOverflow: ({ context }) => context.compactingFrom === "overflow",
  },
}).createMachine({
  id: "session",
  context: initialContext,
  initial: "idle",
  on: {
    "message.queued": { actions: "enqueue" },
    "message.delivered": { actions: "dequeue" },
    "message.withdrawn": { actions: "dequeue" },
    "message.rescheduled": { actions: "reschedule" },
  },
  states: {
    idle: {
      initial: "waiting",
      on: {
        "turn.started": { target: "streaming", actions: "beginTurn" },
        "context.compaction-started": { target: "compacting", actions: "compactFromIdle" },
        "session.recovered": { target: "idle", actions: "hold" },
        "session.resumed": { actions: "release" },
        "session.closed": "closed",
      },
      states: {
        waiting: {
          always: { guard: "turnIsDue", target: "starting" },
          on: { "session.rewound": { actions: "rewind" } },
        },
        starting: { entry: "startTurn" },
      },
    },

    streaming: {
      initial: "deciding",
      on: { "turn.ended": { target: "idle", actions: "finishTurn" } },
      states: {
        deciding: {
          always: [
            { guard: "isStopping", target: "ending" },
            { guard: "isLastStepOver", target: "ending" },
            { guard: "hasLastStepLeft", target: "boundary" },
            { guard: "isAtStepLimit", target: "ending", actions: "stopAtLimit" },
            { target: "boundary" },
          ],
        },
        boundary: {
          entry: "startStep",
          on: {
            "step.started": { target: "calling", actions: "beginStep" },
            "context.compaction-started": {
              target: "#session.compacting",
              actions: "compactFromBoundary",
            },
            "turn.cancel-requested": { target: "deciding", actions: "cancel" },
            "turn.limit-reached": { target: "deciding", actions: "limit" },
            "turn.held": { target: "held", actions: "holdTurn" },
            "session.recovered": { target: "deciding", actions: "recover" },
          },
        },
        held: {
          on: {
            "turn.allowed": { target: "deciding", actions: "allow" },
            "turn.cancel-requested": { target: "deciding", actions: "cancel" },
          },
        },
        calling: {
          entry: "callModel",
          on: {
            "part.tool-call": { actions: "addCall" },
            // Before a retry, the calls of the failed attempt are skipped.
            "tool.skipped": { actions: "setCall" },
            "step.finished": { target: "stepped", actions: "finishStep" },
            "step.failed": { target: "stepped", actions: "stopAsFailed" },
            "step.interrupted": { target: "stepped", actions: "skipCalls" },
            "step.retrying": "backingOff",
            "context.overflowed": "overflowed",
            "turn.cancel-requested": [
              { guard: "stopsNow", actions: ["cancel", "abort"] },
              { actions: "cancel" },
            ],
            "turn.limit-reached": { actions: ["limit", "abort"] },
            "session.recovered": { actions: ["recover", "settle"] },
          },
        },
        backingOff: {
          entry: "backOff",
          on: {
            "step.started": { target: "calling", actions: "beginStep" },
            "step.failed": { target: "stepped", actions: "stopAsFailed" },
            "step.interrupted": { target: "stepped", actions: "skipCalls" },
            "turn.cancel-requested": { actions: ["cancel", "abort"] },
            "turn.limit-reached": { actions: ["limit", "abort"] },
            "session.recovered": { actions: ["recover", "settle"] },
          },
        },
        overflowed: {
          entry: "freeContext",
          on: {
            "context.compaction-started": {
              target: "#session.compacting",
              actions: "compactFromOverflow",
            },
            "step.started": { target: "calling", actions: "beginStep" },
            "step.failed": { target: "stepped", actions: "stopAsFailed" },
            "step.interrupted": { target: "stepped", actions: "skipCalls" },
            "session.recovered": { actions: ["recover", "settle"] },
          },
        },
        stepped: {
          always: [
            { guard: "hasOpenCalls", target: "#session.tools" },
            { guard: "isStopping", target: "ending" },
            { guard: "hasLastStep", target: "deciding" },
            { guard: "wasCutOff", target: "deciding" },
            { guard: "hasSteering", target: "deciding" },
            { guard: "awaitsResults", target: "deciding" },
            { target: "ending" },
          ],
        },
        ending: {
          entry: { type: "endTurn", params: ({ context }) => ({ reason: endReason(context) }) },
          // While the output is parsed, the turn can still be stopped.
          on: {
            "turn.cancel-requested": { target: "ending", reenter: true, actions: "cancel" },
            "turn.limit-reached": { target: "ending", reenter: true, actions: "limit" },
            "session.recovered": { target: "ending", reenter: true },
          },
        },
      },
    },

    tools: {
      entry: "runTools",
      always: { guard: "hasNoOpenCalls", target: "streaming.deciding" },
      on: {
        "tool.approval-requested": { actions: "setCall" },
        "tool.approval-answered": { actions: ["setCall", "runTools"] },
        "tool.output-requested": { actions: "setCall" },
        "tool.started": { actions: "setCall" },
        "tool.succeeded": { actions: "setCall" },
        "tool.failed": { actions: "setCall" },
        "tool.denied": { actions: "setCall" },
        "tool.skipped": { actions: "setCall" },
        "tool.unknown": { actions: "setCall" },
        "turn.cancel-requested": [
          { guard: "stopsNow", actions: ["cancel", "abort", "runTools"] },
          { actions: ["cancel", "runTools"] },
        ],
        "turn.limit-reached": { actions: ["limit", "abort", "runTools"] },
        "session.recovered": { actions: ["recover", "settle", "runTools"] },
      },
    },

    compacting: {
      entry: "compact",
      on: {
        "context.compacted": "resuming",
        "context.compaction-rejected": "resuming",
        "turn.cancel-requested": { actions: ["cancel", "abort"] },
        "turn.limit-reached": { actions: ["limit", "abort"] },
        "session.recovered": { actions: ["recover", "settle"] },
      },
    },
    resuming: {
      always: [
        { guard: "cameFromIdle", target: "idle" },
        { guard: "cameFromOverflow", target: "streaming.overflowed" },
        { target: "streaming.deciding" },
      ],
    },

    closed: { type: "final" },
  },
});
