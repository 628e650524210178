/** How each event changes the context of the session machine. */

import { assertEvent } from "xstate";
import { entryOf } from "../events/index.ts";
import {
  allowsCalls,
  callStates,
  endReason,
  hasOpenCalls,
  holdsQueue,
  limitReasons,
  withCall,
  type SessionContext,
} from "./session-context.ts";
import type { StructuralEvent } from "./structural-events.ts";

type Changes = Partial<SessionContext>;

interface Moved {
  readonly context: SessionContext;
  readonly event: StructuralEvent;
}

export function enqueue({ context, event }: Moved): Changes {
  assertEvent(event, "message.queued");
  const { id, delivery, notBefore } = event.data;
  if (notBefore !== undefined) return { later: [...context.later, id] };
  return { queue: [...context.queue, { id, delivery }], held: false };
}

export function dequeue({ context, event }: Moved): Changes {
  assertEvent(event, ["message.delivered", "message.withdrawn"]);
  const gone = new Set(event.data.ids);
  return {
    queue: context.queue.filter((message) => !gone.has(message.id)),
    later: context.later.filter((id) => !gone.has(id)),
  };
}

/** A message whose time has come counts as sent now. */
export function reschedule({ context: { queue, later }, event }: Moved): Changes {
  assertEvent(event, "message.rescheduled");
  const { id, delivery, notBefore } = event.data;
  const isOther = (message: { readonly id: string }): boolean => message.id !== id;
  if (later.includes(id)) {
    if (notBefore !== undefined) return {};
    const others = later.filter((one) => one !== id);
    return { queue: [...queue, { id, delivery }], later: others, held: false };
  }
  if (queue.every(isOther)) return {};
  if (notBefore !== undefined) return { queue: queue.filter(isOther), later: [...later, id] };
  return { queue: queue.map((message) => (isOther(message) ? message : { id, delivery })) };
}

export function beginTurn({ event }: Moved): Changes {
  assertEvent(event, "turn.started");
  return {
    turn: event.data.turn,
    maxSteps: event.data.maxSteps,
    stepsInTurn: 0,
    finishReason: undefined,
    stopping: undefined,
    lastStep: undefined,
    recoveries: 0,
  };
}

export function beginStep({ context, event }: Moved): Changes {
  assertEvent(event, "step.started");
  const { step, attempt } = event.data;
  return {
    step,
    attempt,
    stepsInTurn: attempt === 1 ? context.stepsInTurn + 1 : context.stepsInTurn,
    calls: [],
    skipCalls: false,
    finishReason: undefined,
    awaitsResults: undefined,
    lastStep: context.lastStep && { ...context.lastStep, begun: true },
  };
}

export function addCall({ context, event }: Moved): Changes {
  assertEvent(event, "part.tool-call");
  const { toolCallId, providerExecuted } = event.data;
  if (providerExecuted === true || entryOf(context.calls, toolCallId) !== undefined) return {};
  return { calls: withCall(context, toolCallId, "waiting") };
}

export function finishStep({ context, event }: Moved): Changes {
  assertEvent(event, "step.finished");
  const { finishReason, deferred = [] } = event.data;
  const isOver = finishReason === "error" || finishReason === "interrupted";
  const awaitsResults: SessionContext["awaitsResults"] =
    deferred.length > 0 && !isOver ? true : undefined;
  const finished = { finishReason, awaitsResults };
  if (!hasOpenCalls(context)) return finished;
  // The last step may only conclude: its calls are skipped.
  if (context.lastStep !== undefined) return { ...finished, skipCalls: true };
  if (allowsCalls(finishReason)) return finished;
  const stopping = context.stopping ?? endReason({ ...context, finishReason });
  return { ...finished, stopping, skipCalls: true };
}

export function setCall({ context, event }: Moved): Changes {
  if (!isOfCall(event)) return {};
  const { step, callId } = event.data;
  if (step !== context.step || entryOf(context.calls, callId) === undefined) return {};
  return { calls: withCall(context, callId, callStates[event.type]) };
}

function isOfCall(
  event: StructuralEvent,
): event is Extract<StructuralEvent, { readonly type: keyof typeof callStates }> {
  return Object.hasOwn(callStates, event.type);
}

export function answerCall({ context, event }: Moved): Changes {
  assertEvent(event, "tool.approval-answered");
  const { step, callId, approved } = event.data;
  if (step !== context.step || entryOf(context.calls, callId) !== "awaiting-approval") return {};
  return { calls: withCall(context, callId, approved ? "approved" : "refused") };
}

export function cancel({ context, event }: Moved): Changes {
  assertEvent(event, "turn.cancel-requested");
  const stopping = context.stopping ?? "cancelled";
  return event.data.mode === "after-tools" ? { stopping } : { stopping, skipCalls: true };
}

export function limit({ context, event }: Moved): Changes {
  assertEvent(event, "turn.limit-reached");
  const reason = limitReasons[event.data.limit];
  return event.data.lastStep
    ? { lastStep: context.lastStep ?? { reason, begun: false }, skipCalls: true }
    : { stopping: context.stopping ?? reason, skipCalls: true };
}

export function stopAsFailed({ context }: Moved): Changes {
  return {
    stopping: context.stopping ?? "failed",
    skipCalls: true,
  };
}

export function recover({ context, event }: Moved): Changes {
  assertEvent(event, "session.recovered");
  const recoveries = context.recoveries + 1;
  if (event.data.policy === "continue") return { recoveries };
  return { recoveries, stopping: context.stopping ?? "interrupted", skipCalls: true };
}

export function hold({ event }: Moved): Changes {
  assertEvent(event, "session.recovered");
  return { held: event.data.policy === "stop" };
}

/** An edit waits for the message that replaces the former one. */
export function rewind({ context, event }: Moved): Changes {
  assertEvent(event, "session.rewound");
  const { again = [], edit } = event.data;
  const waiting = again.map((id) => ({ id, delivery: "follow-up" as const }));
  const held = edit !== undefined || (context.held && again.length === 0);
  return { queue: [...waiting, ...context.queue], held };
}

export function finishTurn({ event }: Moved): Changes {
  assertEvent(event, "turn.ended");
  const { reason } = event.data;
  return {
    held: holdsQueue(reason),
    calls: [],
    skipCalls: false,
    stopping: undefined,
    lastStep: undefined,
  };
}
