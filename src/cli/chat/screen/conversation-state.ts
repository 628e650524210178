/**
 * What the chat shows of a session while it runs: its activity, the waiting messages, and the calls
 * of the step with their questions. Folds events through the machine and the projections; pure.
 */

import { defined, type CancelMode, type SessionEvent } from "../../../events/index.ts";
import {
  type HeldBudget,
  type initialMachineState,
  isHeld,
  machineFold,
  resolveMachineState,
} from "../../../machines/index.ts";
import {
  allWaiting,
  history as historyProjection,
  queue as queueProjection,
  type HistoryPart,
  type HistoryState,
  type QueuedMessage,
} from "../../../projections/index.ts";
import type { SessionView } from "../../../state/index.ts";
import type { ToldCall } from "../../wording/event-lines.ts";

/** A call of the running step that has not ended. */
export interface OpenCall extends ToldCall {
  readonly status: "waiting" | "awaiting-approval" | "awaiting-output" | "running";
  /** The position of the question that waits for an answer. */
  readonly asked?: number;
}

/** A waiting message with the number that commands use. It keeps the number while it waits. */
export interface WaitingMessage extends QueuedMessage {
  readonly number: number;
}

export interface ConversationState {
  readonly activity: "idle" | "turn" | "retrying" | "compacting";
  readonly queue: readonly WaitingMessage[];
  /** Whether waiting messages start no turn by themselves. */
  readonly held: boolean;
  readonly calls: readonly OpenCall[];
  /** The limit of spending that holds the turn. */
  readonly budget: HeldBudget | undefined;
  /** How the running turn was asked to stop. */
  readonly stopping: CancelMode | undefined;
  readonly folds: Folds;
}

interface Folds {
  readonly machine: typeof initialMachineState;
  /** Holds the running step only. */
  readonly history: HistoryState;
}

/** The conversation at a view. Equals the fold over all events up to it, except for `stopping`. */
export function conversationOf({ state, queue, history }: SessionView): ConversationState {
  const last = history.at(-1);
  const step = last?.kind === "step" ? { open: last } : {};
  const folds = {
    machine: resolveMachineState(state),
    history: { ...historyProjection.initial, ...step },
  };
  return {
    ...shown(folds),
    queue: queue.map((message, index) => ({ ...message, number: index + 1 })),
    stopping: undefined,
  };
}

export function foldConversation(state: ConversationState, event: SessionEvent): ConversationState {
  const folds = {
    machine: machineFold(state.folds.machine, event).snapshot,
    history: { ...historyProjection.fold(state.folds.history, event), items: [] },
  };
  return {
    ...shown(folds),
    queue: waitingMessages(state, event),
    stopping: stoppingAfter(state, event),
  };
}

function shown(
  folds: Folds,
): Pick<ConversationState, "activity" | "held" | "calls" | "budget" | "folds"> {
  const { machine, history } = folds;
  return {
    activity: activityOf(machine),
    held: machine.context.held,
    calls: (history.open?.parts ?? []).flatMap(openCall),
    budget: isHeld(machine) ? machine.context.budget : undefined,
    folds,
  };
}

function openCall(part: HistoryPart): readonly OpenCall[] {
  if (part.kind !== "call") return [];
  const { callId, toolName, input, outcome, approvals } = part;
  const call = { callId, toolName, input };
  switch (outcome.status) {
    case "running":
      return [{ ...call, status: "running" }];
    case "awaiting-approval": {
      const reason = outcome.reason === undefined ? {} : { reason: outcome.reason };
      const { position: asked, question } = approvals?.at(-1) ?? {};
      return [{ ...call, status: "awaiting-approval", ...defined({ asked, question }), ...reason }];
    }
    case "awaiting-output":
      return [{ ...call, status: "awaiting-output" }];
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
}

function activityOf({
  value,
  context,
}: Pick<Folds["machine"], "value" | "context">): ConversationState["activity"] {
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

/** Calls that wait for an answer, oldest first. */
export function questionsOf({ calls, stopping }: ConversationState): readonly OpenCall[] {
  // A stopping turn asks no more questions.
  return stopping === undefined ? calls.filter(({ status }) => status === "awaiting-approval") : [];
}

export function runningCalls({ calls }: ConversationState): readonly OpenCall[] {
  return calls.filter(({ status }) => status === "running");
}

/** A numbered queue: each new message gets the next number. */
function waitingMessages(
  { queue }: ConversationState,
  event: SessionEvent,
): readonly WaitingMessage[] {
  const before = {
    waiting: queue.filter(({ notBefore }) => notBefore === undefined),
    later: queue.flatMap(({ notBefore, ...message }) =>
      notBefore === undefined ? [] : [{ ...message, notBefore }],
    ),
    accepted: [],
  };
  const after = queueProjection.fold(before, event);
  if (after === before) return queue;
  const numbers = new Map(queue.map(({ id, number }) => [id, number]));
  const next = Math.max(0, ...numbers.values()) + 1;
  return allWaiting(after).map((message) => ({
    ...message,
    number: numbers.get(message.id) ?? next,
  }));
}

function stoppingAfter(
  { activity, stopping }: ConversationState,
  event: SessionEvent,
): CancelMode | undefined {
  switch (event.type) {
    case "turn.cancel-requested":
      return stopping === "now" ? stopping : (event.data.mode ?? "now");
    case "turn.started":
    case "turn.ended":
      return undefined;
    case "context.compacted":
    case "context.compaction-rejected":
      return activity === "compacting" ? undefined : stopping;
    default:
      return stopping;
  }
}
