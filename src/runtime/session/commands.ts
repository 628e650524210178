/**
 * The commands of a session as deciders: each reads the state and returns the events that the command
 * becomes, or throws why it is refused. Pure. The session handle calls them and records the events.
 */

import { isDeepStrictEqual } from "node:util";
import {
  byId,
  TurnlogError,
  type Delivery,
  type EventBody,
  type JsonObject,
  type CancelMode,
  type TurnEndReason,
} from "../../events/index.ts";
import { allWaiting, type QueuedMessage } from "../../projections/index.ts";
import {
  isIdle,
  type SessionRecorder,
  type DescribedCall,
  type SessionState,
} from "../../state/index.ts";

export type CommandTarget = Pick<SessionRecorder, "session" | "state">;

type Events = readonly EventBody[];

export function refusal(
  { session, state }: CommandTarget,
  command: string,
  why: string,
): TurnlogError {
  return new TurnlogError(
    state.machine.matches("closed") ? "SESSION_CLOSED" : "COMMAND_REFUSED",
    `Session ${session} cannot ${command}: ${why}.`,
    { session, position: state.position },
  );
}

/** @throws TurnlogError `SESSION_CLOSED` */
export function assertNotClosed(target: CommandTarget, command: string): void {
  if (target.state.machine.matches("closed")) throw refusal(target, command, "it is closed");
}

/** @throws TurnlogError `COMMAND_REFUSED` while a turn or a compaction runs */
export function assertIdle(target: CommandTarget, command: string): void {
  if (isIdle(target.state)) return;
  throw refusal(target, command, "it is running a turn; cancel it or wait");
}

export function waitingMessage(
  { state }: CommandTarget,
  messageId: string,
): QueuedMessage | undefined {
  return allWaiting(state.queue).find((message) => message.id === messageId);
}

/** Options of `session.withdraw`. */
export interface WithdrawOptions {
  readonly reason?: string;
  /** The name of the person who withdraws it, for the log. */
  readonly by?: string;
}

/** The reason of a command and the name of its author, where they are given. */
export function explained({
  reason,
  by,
}: { readonly [Key in keyof WithdrawOptions]: string | undefined }): WithdrawOptions {
  return { ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) };
}

export function withdraw(
  target: CommandTarget,
  messageId: string,
  given: string | WithdrawOptions = {},
): Events {
  assertWaiting(target, "withdraw", messageId);
  const { reason, by } = typeof given === "string" ? { reason: given } : given;
  const data = { ids: [messageId], ...explained({ reason, by }) };
  return [{ type: "message.withdrawn", data }];
}

/** When a message is delivered: how, and not before a time in epoch milliseconds, `"now"` for none. */
export interface Schedule {
  readonly delivery?: Delivery | undefined;
  readonly notBefore?: number | "now" | undefined;
}

/** No event if the message has that delivery and time already. */
export function reschedule(target: CommandTarget, messageId: string, to: Schedule): Events {
  const message = assertWaiting(target, "reschedule", messageId);
  const { delivery = message.delivery, notBefore: time = message.notBefore } = to;
  const notBefore = time === "now" ? undefined : time;
  if (message.delivery === delivery && message.notBefore === notBefore) return [];
  const later = notBefore === undefined ? {} : { notBefore };
  return [{ type: "message.rescheduled", data: { id: messageId, delivery, ...later } }];
}

/** The events that say that the time of messages has come, in the order of their times. */
export function takeDue({ state }: CommandTarget, now: number): Events {
  if (state.machine.matches("closed")) return [];
  return state.queue.later
    .filter(({ notBefore }) => notBefore <= now)
    .map(({ id, delivery }) => ({ type: "message.rescheduled", data: { id, delivery } }));
}

function assertWaiting(target: CommandTarget, command: string, messageId: string): QueuedMessage {
  const message = waitingMessage(target, messageId);
  if (message !== undefined) return message;
  throw refusal(target, command, `message ${messageId} does not wait`);
}

/** No event if no message is held. */
export function resume({ state }: CommandTarget): Events {
  const { held, queue } = state.machine.context;
  return held && queue.length > 0 ? [{ type: "session.resumed", data: {} }] : [];
}

export function forgetApproval(target: CommandTarget, toolName: string): Events {
  const { always } = target.state.approvals;
  if (byId(always, toolName) !== undefined)
    return [{ type: "session.approval-forgotten", data: { toolName } }];
  const others = Object.keys(always);
  const about = others.length === 0 ? "" : `. Answered permanently: ${others.join(", ")}`;
  const why = `${JSON.stringify(toolName)} has no permanent answer${about}`;
  throw refusal(target, "forgetApproval", why);
}

/** Undoes the change of the context at a position; without one, the newest. */
export function restore(target: CommandTarget, given?: number): Events {
  assertIdle(target, "restore");
  const { compactions, prunings, cuts, omissions, reductions = [] } = target.state.view;
  const activeCuts = cuts.filter(({ undone }) => undone !== true);
  const changes = [...compactions, ...prunings, ...activeCuts, ...omissions, ...reductions];
  const positions = changes.map((change) => change.position);
  const position = given ?? Math.max(0, ...positions);
  if (positions.includes(position)) return [{ type: "context.restored", data: { position } }];
  throw refusal(
    target,
    "restore",
    given === undefined
      ? "nothing is pruned, cut, left out or compacted"
      : `nothing was pruned, cut, left out or compacted at position ${position}, or it is already undone`,
  );
}

/** No event if the session has these metadata. */
export function setMetadata(target: CommandTarget, metadata: JsonObject): Events {
  assertNotClosed(target, "setMetadata");
  if (isDeepStrictEqual(target.state.summary.metadata, metadata)) return [];
  return [{ type: "session.metadata-set", data: { metadata } }];
}

/** No event if the session is closed already. */
export function close(target: CommandTarget, reason?: string): Events {
  if (target.state.machine.matches("closed")) return [];
  assertIdle(target, "close");
  return [{ type: "session.closed", data: reason === undefined ? {} : { reason } }];
}

// Cancelling a turn as a decider: the events of the request, and what the turn was doing. Pure.

export interface CancelOptions {
  /**
   * `now` (default) stops the running model call and tools. `after-tools` lets the step and its tools
   * finish; calls that wait for approval are skipped.
   */
  readonly mode?: CancelMode;
  readonly reason?: string;
  /** Withdraw the waiting messages too. Default: false. */
  readonly withdraw?: boolean;
  /** The name of the person who cancels, for the log. */
  readonly by?: string;
}

/** What the session was doing when its turn was cancelled, and what is kept of the turn. */
export interface Cancelled {
  readonly was: "idle" | "streaming" | "tools" | "compacting";
  readonly turn: number | undefined;
  /** How the turn ended: `cancelled`, or another reason if it ended before the cancel. */
  readonly ended: TurnEndReason | undefined;
  readonly kept: {
    /** The text of the turn's last step. */
    readonly text: string;
    readonly calls: readonly Pick<
      DescribedCall,
      "callId" | "toolName" | "status" | "input" | "reason"
    >[];
  };
  /** Ids of the messages that were withdrawn. */
  readonly withdrawn: readonly string[];
}

export interface Cancellation {
  readonly events: readonly EventBody[];
  /** `turn` is undefined between turns. */
  readonly cancelled: Pick<Cancelled, "was" | "turn" | "withdrawn">;
}

export function cancel(
  { machine, queue }: SessionState,
  { mode = "now", reason, withdraw = false, by }: CancelOptions,
): Cancellation {
  const { turn, stopping, skipCalls, compactingFrom } = machine.context;
  const about = explained({ reason, by });
  const waiting = withdraw && !machine.matches("closed") ? queue.waiting : [];
  const withdrawn = waiting.map((message) => message.id);
  const events: EventBody[] = [];
  if (withdrawn.length > 0) {
    events.push({ type: "message.withdrawn", data: { ids: withdrawn, ...about } });
  }
  const was = activityOf(machine);
  // A second request with `now` hurries a turn that was to stop after its tools.
  if (was !== "idle" && (stopping === undefined || (mode === "now" && !skipCalls))) {
    events.push({ type: "turn.cancel-requested", data: { turn, mode, ...about } });
  }
  const isBetweenTurns = was === "idle" || (was === "compacting" && compactingFrom === "idle");
  return { events, cancelled: { was, turn: isBetweenTurns ? undefined : turn, withdrawn } };
}

function activityOf(machine: SessionState["machine"]): Cancelled["was"] {
  if (machine.matches("idle") || machine.matches("closed")) return "idle";
  if (machine.matches("tools")) return "tools";
  return machine.matches("compacting") ? "compacting" : "streaming";
}
