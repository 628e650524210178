/**
 * What a person at the terminal has to know of a session while it runs: what it is doing, what waits
 * to be delivered, which calls wait for an answer. A fold over its events; pure.
 */

import type { CancelMode, JsonValue, SessionEvent } from "../../events/index.ts";
import { queue as queueProjection, type QueuedMessage } from "../../projections/index.ts";
import type { SessionView } from "../../state/index.ts";

export interface OpenCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly status: "waiting" | "awaiting-approval" | "running";
  /** The position of the question that waits for an answer, where there is one. */
  readonly asked?: number;
  /** Why it is asked about, where somebody said so. */
  readonly reason?: string;
}

/** With the number that it is called by, which stays as long as it waits. */
export interface WaitingMessage extends QueuedMessage {
  readonly number: number;
}

export interface ConversationState {
  readonly activity: "idle" | "turn" | "retrying" | "compacting";
  /** Messages that wait, oldest first. */
  readonly queue: readonly WaitingMessage[];
  /** Waiting messages start no turn by themselves. */
  readonly held: boolean;
  /** The calls of the running step that have not ended. */
  readonly calls: readonly OpenCall[];
  /** How the turn was asked to stop. */
  readonly stopping: CancelMode | undefined;
}

export const newConversation: ConversationState = {
  activity: "idle",
  queue: [],
  held: false,
  calls: [],
  stopping: undefined,
};

/** The same as the fold over all events up to the position of the view, if nothing is stopping. */
export function conversationOf({ state, queue, history }: SessionView): ConversationState {
  const last = history.at(-1);
  const open = last?.kind === "step" ? last.parts : [];
  return {
    activity: activityOf(state),
    queue: queue.map((message, index) => ({ ...message, number: index + 1 })),
    held: state.context.held,
    calls: open.flatMap((part): readonly OpenCall[] => {
      if (part.kind !== "call") return [];
      const { callId, toolName, input, outcome, approvals } = part;
      const call = { callId, toolName, input };
      switch (outcome.status) {
        case "running":
          return [{ ...call, status: "running" }];
        case "awaiting-approval": {
          const why = outcome.reason === undefined ? {} : { reason: outcome.reason };
          const { position } = approvals?.at(-1) ?? {};
          const asked = position === undefined ? {} : { asked: position };
          return [{ ...call, status: "awaiting-approval", ...asked, ...why }];
        }
        case "waiting":
        case "approved":
        case "refused":
          return [{ ...call, status: "waiting" }];
        case "succeeded":
        case "failed":
        case "denied":
        case "skipped":
        case "unknown":
          return [];
      }
    }),
    stopping: undefined,
  };
}

function activityOf({ value, context }: SessionView["state"]): ConversationState["activity"] {
  switch (value) {
    case "closed":
      return "idle";
    case "tools":
      return "turn";
    case "compacting":
    case "resuming":
      return context.compactingFrom === "idle" ? "compacting" : "turn";
    default:
      if ("idle" in value) return "idle";
      return value.streaming === "backingOff" ? "retrying" : "turn";
  }
}

export function foldConversation(state: ConversationState, event: SessionEvent): ConversationState {
  switch (event.type) {
    case "message.queued":
      return { ...withQueue(state, event), held: false };
    case "message.delivered":
    case "message.rescheduled":
    case "message.withdrawn":
      return withQueue(state, event);
    case "session.recovered":
      return state.activity === "idle" ? { ...state, held: event.data.policy === "stop" } : state;
    case "session.resumed":
      return { ...state, held: false };
    case "turn.started":
      return { ...state, activity: "turn", calls: [], stopping: undefined };
    case "turn.cancel-requested":
      return state.stopping === "now" ? state : { ...state, stopping: event.data.mode ?? "now" };
    case "turn.ended": {
      const held = !["stop", "length", "content-filter", "max-steps"].includes(event.data.reason);
      return { ...state, activity: "idle", calls: [], stopping: undefined, held };
    }
    case "step.started":
      return { ...state, activity: "turn", calls: [] };
    case "step.retrying":
      return { ...state, activity: "retrying" };
    case "step.finished":
    case "step.failed":
    case "step.interrupted":
      return { ...state, activity: "turn" };
    case "part.tool-call": {
      const { toolCallId: callId, toolName, input = {}, providerExecuted } = event.data;
      const known = state.calls.some((call) => call.callId === callId);
      if (providerExecuted === true || known) return state;
      return { ...state, calls: [...state.calls, { callId, toolName, input, status: "waiting" }] };
    }
    case "tool.approval-requested": {
      const { callId, reason } = event.data;
      const why = reason === undefined ? {} : { reason };
      return changed(state, callId, { status: "awaiting-approval", asked: event.position, ...why });
    }
    case "tool.approval-answered":
      return changed(state, event.data.callId, { status: "waiting" });
    case "tool.started":
      return changed(state, event.data.callId, { status: "running" });
    case "tool.succeeded":
    case "tool.failed":
    case "tool.denied":
    case "tool.skipped":
    case "tool.unknown": {
      const { callId } = event.data;
      return { ...state, calls: state.calls.filter((call) => call.callId !== callId) };
    }
    case "context.compaction-started":
      return state.activity === "idle" ? { ...state, activity: "compacting" } : state;
    case "context.compacted":
    case "context.compaction-rejected":
      return state.activity === "compacting"
        ? { ...state, activity: "idle", stopping: undefined }
        : state;
    default:
      return state;
  }
}

/** The calls that wait for an answer, oldest first. */
export function questionsOf({ calls, stopping }: ConversationState): readonly OpenCall[] {
  // In a turn that stops nobody is asked any more.
  return stopping === undefined ? calls.filter(({ status }) => status === "awaiting-approval") : [];
}

export function runningCalls({ calls }: ConversationState): readonly OpenCall[] {
  return calls.filter(({ status }) => status === "running");
}

function withQueue(state: ConversationState, event: SessionEvent): ConversationState {
  const { waiting } = queueProjection.fold({ waiting: state.queue, accepted: [] }, event);
  const numbers = new Map(state.queue.map(({ id, number }) => [id, number]));
  const next = Math.max(0, ...numbers.values()) + 1;
  return {
    ...state,
    queue: waiting.map((message) => ({ ...message, number: numbers.get(message.id) ?? next })),
  };
}

function changed(
  state: ConversationState,
  callId: string,
  how: Pick<OpenCall, "status" | "asked" | "reason">,
): ConversationState {
  return {
    ...state,
    calls: state.calls.map((call) => {
      if (call.callId !== callId) return call;
      const { reason: _, asked: __, ...rest } = call;
      return { ...rest, ...how };
    }),
  };
}
