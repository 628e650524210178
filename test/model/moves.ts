/**
 * The model of the tests is the machine. A move is an event that may come next in it, without what
 * follows from the situation in which it comes. Pure. Paths are made of moves, and every event that a
 * real runtime records must be one.
 */

import type {
  CancelMode,
  Delivery,
  EventBody,
  FinishReason,
  RecoveryPolicy,
} from "../../src/events/index.ts";
import {
  type SessionContext,
  type StructuralEvent,
  type StructuralType,
  endReason,
} from "../../src/machines/index.ts";
import type { ToolKind } from "./conducted-tools.ts";
import {
  after,
  dueMessages,
  laterId,
  messageId,
  nextCallId,
  nextSearchId,
  type Situation,
  type World,
} from "./situation.ts";

type CallMove =
  | "tool.approval-requested"
  | "tool.output-requested"
  | "tool.started"
  | "tool.succeeded"
  | "tool.failed"
  | "tool.denied"
  | "tool.skipped"
  | "tool.unknown";

/** An event without what follows from the situation in which it comes. */
export type Move =
  | { readonly type: "message.queued"; readonly delivery: Delivery; readonly later?: true }
  /** The oldest message that waits, or the oldest for later: its time comes, or it is taken back. */
  | { readonly type: "message.rescheduled" | "message.withdrawn"; readonly later?: true }
  | { readonly type: "part.tool-call"; readonly kind: ToolKind }
  | {
      readonly type: "step.finished";
      readonly finishReason: FinishReason;
      /** The provider owes a result. */
      readonly deferred?: true;
    }
  | { readonly type: CallMove; readonly callId: string }
  | {
      readonly type: "tool.approval-answered";
      readonly callId: string;
      readonly approved: boolean;
      readonly always?: boolean;
    }
  | { readonly type: "turn.cancel-requested"; readonly mode: CancelMode }
  | { readonly type: "session.recovered"; readonly policy: RecoveryPolicy }
  /** `back`: to before everything. `again`: the last turn runs again. */
  | { readonly type: "session.rewound"; readonly way: "back" | "again" }
  | {
      readonly type: Exclude<
        StructuralType,
        | CallMove
        | "message.queued"
        | "message.rescheduled"
        | "message.withdrawn"
        | "part.tool-call"
        | "step.finished"
        | "tool.approval-answered"
        | "turn.cancel-requested"
        | "session.recovered"
        | "session.rewound"
      >;
    };

const noUsage = { basis: "measured", inputTokens: 0, outputTokens: 0 } as const;
const error = { name: "Error", message: "It failed." } as const;

/** The event that a move is in a situation, with everything that the machine reads of it. */
function bodyOf(move: Move, situation: Situation, world: World): EventBody<StructuralType> {
  const { context } = situation.machine;
  const { turn, step, attempt, queue } = context;
  const oldest = queue[0]?.id ?? "none";
  const oldestLater = context.later[0] ?? "none";
  switch (move.type) {
    case "message.queued":
      if (move.later === true) {
        const data = { id: laterId(situation), content: "Go on.", delivery: move.delivery };
        return { type: move.type, data: { ...data, notBefore: 1 } };
      }
      return {
        type: move.type,
        data: { id: messageId(situation), content: "Go on.", delivery: move.delivery },
      };
    case "message.delivered": {
      const boundary = context.stepsInTurn === 0 ? "turn" : "step";
      return { type: move.type, data: { ids: dueMessages(situation), turn, boundary } };
    }
    case "message.rescheduled": {
      if (move.later === true)
        return { type: move.type, data: { id: oldestLater, delivery: "follow-up" } };
      const delivery = queue[0]?.delivery === "steer" ? "follow-up" : "steer";
      return { type: move.type, data: { id: oldest, delivery } };
    }
    case "message.withdrawn":
      return { type: move.type, data: { ids: [move.later === true ? oldestLater : oldest] } };
    case "turn.started":
      return { type: move.type, data: { turn: turn + 1, maxSteps: world.maxSteps } };
    case "turn.cancel-requested":
      return { type: move.type, data: { turn, mode: move.mode } };
    case "turn.limit-reached":
      return {
        type: move.type,
        data: { turn, limit: "time", lastStep: world.lastStep && mayConclude(context) },
      };
    case "turn.held": {
      const budget = { of: "session", unit: "tokens", limit: 0, spent: 0 } as const;
      return { type: move.type, data: { turn, budget } };
    }
    case "turn.allowed":
      return { type: move.type, data: { turn, tokens: 1 } };
    case "turn.ended":
      return { type: move.type, data: { turn, reason: endReason(context) } };
    case "step.started":
      return {
        type: move.type,
        data: {
          turn,
          ...(situation.machine.matches({ streaming: "backingOff" }) ||
          situation.machine.matches({ streaming: "overflowed" })
            ? { step, attempt: attempt + 1 }
            : { step: step + 1, attempt: 1 }),
          model: { provider: "turnlog", modelId: "scripted" },
          promptDigest: "",
          estimate: { tokens: 0, basis: "length" },
        },
      };
    case "step.retrying":
      return { type: move.type, data: { step, attempt, delayMs: 0, error } };
    case "step.finished":
      return {
        type: move.type,
        data: {
          step,
          finishReason: move.finishReason,
          usage: noUsage,
          response: {},
          ...(move.deferred === true ? { deferred: situation.searches.waiting } : {}),
        },
      };
    case "step.failed":
      return { type: move.type, data: { step, error, usage: noUsage } };
    case "step.interrupted":
      return { type: move.type, data: { step, reason: "cancelled", usage: noUsage } };
    case "part.tool-call":
      if (move.kind === "searching") {
        const toolCallId = nextSearchId(situation);
        const call = { toolCallId, toolName: move.kind, input: {}, providerExecuted: true };
        return { type: move.type, data: call };
      }
      return {
        type: move.type,
        data: { toolCallId: nextCallId(situation), toolName: move.kind, input: {} },
      };
    case "tool.approval-requested":
      return { type: move.type, data: { step, callId: move.callId, toolName: "" } };
    case "tool.output-requested":
      return { type: move.type, data: { step, callId: move.callId, toolName: "" } };
    case "tool.approval-answered":
      return {
        type: move.type,
        data: {
          step,
          callId: move.callId,
          approved: move.approved,
          always: move.always === true,
        },
      };
    case "tool.started":
      return {
        type: move.type,
        data: { step, callId: move.callId, toolName: "", attempt: 1, effectId: "" },
      };
    case "tool.succeeded":
      return {
        type: move.type,
        data: {
          step,
          callId: move.callId,
          output: null,
          modelOutput: { type: "json", value: null },
        },
      };
    case "tool.failed":
      return { type: move.type, data: { step, callId: move.callId, error } };
    case "tool.denied":
      return { type: move.type, data: { step, callId: move.callId } };
    case "tool.skipped":
      return { type: move.type, data: { step, callId: move.callId, reason: "cancelled" } };
    case "tool.unknown":
      return { type: move.type, data: { step, callId: move.callId, reason: "cancelled" } };
    case "context.overflowed":
      return { type: move.type, data: { step, error } };
    case "context.compaction-started":
      return { type: move.type, data: { trigger: "asked", strategy: "drop-oldest" } };
    case "context.compacted":
      return {
        type: move.type,
        data: {
          strategy: "drop-oldest",
          covers: { from: 1, to: 1 },
          summary: "",
          beforeTokens: 1,
          afterTokens: 0,
        },
      };
    case "context.compaction-rejected":
      return { type: move.type, data: { strategy: "drop-oldest", why: "nothing-to-gain" } };
    case "session.recovered":
      return { type: move.type, data: { inFlight: { kind: "nothing" }, policy: move.policy } };
    case "session.resumed":
      return { type: move.type, data: {} };
    case "session.rewound":
      return {
        type: move.type,
        data: { to: 1, ...(move.way === "again" ? { again: situation.lastTurn } : {}) },
      };
    case "session.closed":
      return { type: move.type, data: {} };
  }
}

/** Whether a step to conclude in can still be granted. */
function mayConclude({ stopping, lastStep }: SessionContext): boolean {
  return stopping === undefined && lastStep === undefined;
}

/** The situation after a move. */
export function play(situation: Situation, move: Move, world: World): Situation {
  return after(situation, eventOf(move, situation, world));
}

export function eventOf(move: Move, situation: Situation, world: World): StructuralEvent {
  return { position: 1, time: 0, ...bodyOf(move, situation, world) };
}
