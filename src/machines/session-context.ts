/** The context of the session machine, counters and ids and never content, and the machine's type. */

import {
  deepFreeze,
  entriesOf,
  entryOf,
  withEntry,
  type ChunkedRecord,
  type Delivery,
  type EventMap,
  type FinishReason,
  type TurnEndReason,
} from "../events/index.ts";
import type { CallStatus, EndedStatus } from "../folds/index.ts";
import type {
  EventObject,
  MetaObject,
  NonReducibleUnknown,
  ParameterizedObject,
  StateMachine,
  StateSchema,
} from "xstate";
import type { StructuralEvent } from "./structural-events.ts";

/** The state of a tool call of the running step. The result of an `ended` call is in the log. */
export type CallState = Exclude<CallStatus, EndedStatus> | "ended";

/** A limit of spending that holds a turn until a person allows more. */
export type HeldBudget = EventMap["turn.held"]["budget"] & {
  /** The position of `turn.held`. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly askedAt: number;
};

export interface SessionContext {
  /** Numbers of the last turn, the last step (over the session) and its last attempt. */
  readonly turn: number;
  readonly step: number;
  readonly attempt: number;
  readonly stepsInTurn: number;
  readonly maxSteps: number;
  /** Messages that wait for delivery, oldest first. */
  readonly queue: readonly { readonly id: string; readonly delivery: Delivery }[];
  /** The ids of messages for later, in any order. They start no turn. */
  readonly later: readonly string[];
  /** Waiting messages start no turn, since the last turn was cancelled, failed or cut off. */
  readonly held: boolean;
  /** The calls of the running step by call id, in the model's order. */
  readonly calls: ChunkedRecord<CallState>;
  /** Calls of this step that have not started are skipped. */
  readonly skipCalls: boolean;
  /** How the last step ended; undefined while it runs or if it was cut off. */
  readonly finishReason: FinishReason | undefined;
  /** The provider gives results of the last step in a later one, so the turn continues. */
  readonly awaitsResults: true | undefined;
  /** The turn ends for this reason as soon as nothing runs. */
  readonly stopping: TurnEndReason | undefined;
  /** The turn may have one more step without tools and then ends for this reason. */
  readonly lastStep: { readonly reason: TurnEndReason; readonly begun: boolean } | undefined;
  /** The limit that holds the turn. */
  readonly budget: HeldBudget | undefined;
  /** What the last turn was allowed on top of limits. */
  readonly allowed:
    | readonly { readonly of: string; readonly tokens: number; readonly dollars: number }[]
    | undefined;
  /** The number of recoveries since the turn began. */
  readonly recoveries: number;
  /** The state to which a compaction returns. */
  readonly compactingFrom: "idle" | "boundary" | "overflow";
}

export const initialContext: SessionContext = deepFreeze({
  turn: 0,
  step: 0,
  attempt: 0,
  stepsInTurn: 0,
  maxSteps: 0,
  queue: [],
  later: [],
  held: false,
  calls: [],
  skipCalls: false,
  finishReason: undefined,
  awaitsResults: undefined,
  stopping: undefined,
  lastStep: undefined,
  budget: undefined,
  allowed: undefined,
  recoveries: 0,
  compactingFrom: "idle",
});

type Calls = SessionContext["calls"];

interface OpenCalls {
  readonly open: number;
  readonly asking: number;
}

/**
 * Counts for each value. {@link withCall} derives them from the value before: counting again after each event
 * would be quadratic.
 */
const counted = new WeakMap<Calls, OpenCalls>();

/** How many calls of the running step have not ended, and how many of those wait for an answer or an output. */
export function openCalls({ calls }: Pick<SessionContext, "calls">): OpenCalls {
  const known = counted.get(calls);
  if (known !== undefined) return known;
  const states = entriesOf(calls).map(([, state]) => state);
  const count = (...wanted: readonly CallState[]): number =>
    states.filter((state) => wanted.includes(state)).length;
  const made = {
    open: states.length - count("ended"),
    asking: count("awaiting-approval", "awaiting-output"),
  };
  counted.set(calls, made);
  return made;
}

/** The calls, with the new state of one. */
export function withCall(context: SessionContext, callId: string, state: CallState): Calls {
  const { open, asking } = openCalls(context);
  const before = entryOf(context.calls, callId);
  const calls = withEntry(context.calls, callId, state);
  const openAt = (one: CallState | undefined): number =>
    one === undefined || one === "ended" ? 0 : 1;
  const askingAt = (one: CallState | undefined): number =>
    one === "awaiting-approval" || one === "awaiting-output" ? 1 : 0;
  counted.set(calls, {
    open: open + openAt(state) - openAt(before),
    asking: asking + askingAt(state) - askingAt(before),
  });
  return calls;
}

export function hasOpenCalls(context: SessionContext): boolean {
  return openCalls(context).open > 0;
}

export function hasSteering(context: SessionContext): boolean {
  return context.queue.some((message) => message.delivery === "steer");
}

/** Tools run only if the model finished the step: a call that was cut off by a limit may be incomplete. */
export function allowsCalls(finishReason: FinishReason): boolean {
  return finishReason === "stop" || finishReason === "tool-calls";
}

export function endReason(context: SessionContext): TurnEndReason {
  if (context.stopping !== undefined) return context.stopping;
  if (context.lastStep !== undefined) return context.lastStep.reason;
  switch (context.finishReason) {
    case "length":
    case "content-filter":
      return context.finishReason;
    case "error":
      return "failed";
    case "interrupted":
      return "interrupted";
    case "stop":
    case "tool-calls":
    case "other":
    case undefined:
      return "stop";
  }
}

export const limitReasons = {
  time: "timed-out",
  repetition: "repeating",
  "stop-condition": "stop-condition",
  budget: "out-of-budget",
} as const;

const holding: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>([
  "cancelled",
  "failed",
  "interrupted",
  "timed-out",
  "repeating",
  "out-of-budget",
]);

/** Whether waiting messages are held after such an end, until a person acts. */
export function holdsQueue(reason: TurnEndReason): boolean {
  return holding.has(reason);
}

// The type of the session machine, written out: the inferred one fills the published types with the whole chart.

/** The states and substates by name. */
export type SessionStateValue =
  | "tools"
  | "compacting"
  | "resuming"
  | "closed"
  | { idle: "waiting" | "starting" }
  | {
      streaming:
        | "deciding"
        | "boundary"
        | "held"
        | "calling"
        | "backingOff"
        | "overflowed"
        | "stepped"
        | "ending";
    };

/** The type of {@link sessionMachine}, for tools of XState that take a machine. */
export type SessionMachine = StateMachine<
  SessionContext,
  StructuralEvent,
  // XState's own type for "no children" is the empty object.
  {},
  never,
  ParameterizedObject,
  ParameterizedObject,
  never,
  SessionStateValue,
  string,
  NonReducibleUnknown,
  NonReducibleUnknown,
  EventObject,
  MetaObject,
  StateSchema
>;
