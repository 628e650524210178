/** How each event changes the context of the session machine. */

import { assertEvent } from "xstate";
import { entryOf, type Delivery } from "../events/index.ts";
import {
  callStatusAfter,
  hasEnded,
  isCallEvent,
  withAgain,
  withMessage,
  withMoved,
  withoutMessages,
} from "../folds/index.ts";
import {
  allowsCalls,
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

interface Waiting {
  readonly id: string;
  readonly delivery: Delivery;
  readonly notBefore?: number;
}

function messageOf({ id, delivery, notBefore }: Waiting): Waiting {
  // The times decide nothing here: they only mark scheduled messages.
  return { id, delivery, ...(notBefore === undefined ? {} : { notBefore: 0 }) };
}

function waiting({ queue, later }: SessionContext): readonly Waiting[] {
  if (later.length === 0) return queue;
  return [...queue, ...later.map((id) => ({ id, delivery: "steer", notBefore: 0 }) as const)];
}

function withWaiting(messages: readonly Waiting[]): Pick<SessionContext, "queue" | "later"> {
  const later = messages.flatMap(({ id, notBefore }) => (notBefore === undefined ? [] : id));
  return { queue: messages.slice(0, messages.length - later.length), later };
}

export function enqueue({ context, event }: Moved): Changes {
  assertEvent(event, "message.queued");
  const changes = withWaiting(withMessage(waiting(context), messageOf(event.data)));
  return event.data.notBefore === undefined ? { ...changes, held: false } : changes;
}

export function dequeue({ context, event }: Moved): Changes {
  assertEvent(event, ["message.delivered", "message.withdrawn"]);
  return withWaiting(withoutMessages(waiting(context), event.data.ids));
}

/** A message whose time has come counts as sent now. */
export function reschedule({ context, event }: Moved): Changes {
  assertEvent(event, "message.rescheduled");
  const { id } = event.data;
  const changes = withWaiting(withMoved(waiting(context), id, () => messageOf(event.data)));
  return changes.later.length < context.later.length ? { ...changes, held: false } : changes;
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
    allowed: undefined,
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
  if (!isCallEvent(event)) return {};
  const { step, callId } = event.data;
  const before = entryOf(context.calls, callId);
  if (step !== context.step || before === undefined) return {};
  const after = callStatusAfter(before, event);
  return { calls: withCall(context, callId, hasEnded(after) ? "ended" : after) };
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

export function holdTurn({ event }: Moved): Changes {
  assertEvent(event, "turn.held");
  const { position, time, data } = event;
  return { budget: { ...data.budget, position, askedAt: time } };
}

export function allow({ context: { budget, allowed = [] }, event }: Moved): Changes {
  assertEvent(event, "turn.allowed");
  const { tokens = 0, dollars = 0 } = event.data;
  const { of } = budget ?? {};
  return of === undefined
    ? {}
    : { budget: undefined, allowed: [...allowed, { of, tokens, dollars }] };
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
  const messages = again.map((id) => ({ id, delivery: "follow-up" as const }));
  const held = edit !== undefined || (context.held && again.length === 0);
  return { queue: withAgain(context.queue, messages), held };
}

export function finishTurn({ event }: Moved): Changes {
  assertEvent(event, "turn.ended");
  const { reason } = event.data;
  return {
    held: holdsQueue(reason),
    budget: undefined,
    calls: [],
    skipCalls: false,
    stopping: undefined,
    lastStep: undefined,
  };
}
