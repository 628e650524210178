/** What the machine remembers between events: counters and ids, never content. */

import {
  deepFreeze,
  entriesOf,
  entryOf,
  withEntry,
  type ChunkedRecord,
  type Delivery,
  type FinishReason,
  type TurnEndReason,
} from "../events/index.ts";

/**
 * How far a tool call of the running step has come. `approved` and `refused` are answers that
 * still have to be acted on; `ended` has its result in the log.
 */
export type CallState =
  | "waiting"
  | "awaiting-approval"
  | "approved"
  | "refused"
  | "running"
  | "ended";

export interface SessionContext {
  /** The number of the last turn, of the last step (over the session) and of its last attempt. */
  readonly turn: number;
  readonly step: number;
  readonly attempt: number;
  readonly stepsInTurn: number;
  readonly maxSteps: number;
  /** Messages that were accepted and not yet delivered, oldest first. */
  readonly queue: readonly { readonly id: string; readonly delivery: Delivery }[];
  /** Waiting messages start no turn by themselves: the last one was cancelled, failed or cut off. */
  readonly held: boolean;
  /** The calls of the running step, by call id, in the order in which the model made them. */
  readonly calls: ChunkedRecord<CallState>;
  /** The calls of this step may not start any more and are to be skipped. */
  readonly skipCalls: boolean;
  /** How the last step ended; undefined while it runs or when it was cut off. */
  readonly finishReason: FinishReason | undefined;
  /** The turn is to end for this reason as soon as nothing is running. */
  readonly stopping: TurnEndReason | undefined;
  /** One last step was granted, in which no tools run; the turn then ends for this reason. */
  readonly lastStep: { readonly reason: TurnEndReason; readonly begun: boolean } | undefined;
  /** How often a dead process was recovered from since the turn began. */
  readonly recoveries: number;
  /** Where a compaction goes back to. */
  readonly compactingFrom: "idle" | "boundary" | "overflow";
}

export const initialContext: SessionContext = deepFreeze({
  turn: 0,
  step: 0,
  attempt: 0,
  stepsInTurn: 0,
  maxSteps: 0,
  queue: [],
  held: false,
  calls: [],
  skipCalls: false,
  finishReason: undefined,
  stopping: undefined,
  lastStep: undefined,
  recoveries: 0,
  compactingFrom: "idle",
});

type Calls = SessionContext["calls"];

/** How many calls have not ended, and how many of those wait for an answer. */
interface OpenCalls {
  readonly open: number;
  readonly asking: number;
}

/** Counted once for each value, and from the one before where a call has changed: as many as a step has, looked at after each event, cost their square. */
const counted = new WeakMap<Calls, OpenCalls>();

/** How many calls of the running step have not ended, and how many of those wait for an answer. */
export function openCalls({ calls }: Pick<SessionContext, "calls">): OpenCalls {
  const known = counted.get(calls);
  if (known !== undefined) return known;
  const states = entriesOf(calls).map(([, state]) => state);
  const count = (...wanted: readonly CallState[]): number =>
    states.filter((state) => wanted.includes(state)).length;
  const made = { open: states.length - count("ended"), asking: count("awaiting-approval") };
  counted.set(calls, made);
  return made;
}

/** The calls, with one that stands so now. */
export function withCall(context: SessionContext, callId: string, state: CallState): Calls {
  const { open, asking } = openCalls(context);
  const before = entryOf(context.calls, callId);
  const calls = withEntry(context.calls, callId, state);
  const openAt = (one: CallState | undefined): number =>
    one === undefined || one === "ended" ? 0 : 1;
  const askingAt = (one: CallState | undefined): number => (one === "awaiting-approval" ? 1 : 0);
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

/** Tools run only when the model ended the step by itself; a call cut off by a limit is not trusted. */
export function allowsCalls(finishReason: FinishReason): boolean {
  return finishReason === "stop" || finishReason === "tool-calls";
}

/** The reason with which a turn ends that nothing else has stopped. */
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

/** Every event that says how a call of the running step stands, and what it says. */
export const callStates = {
  "tool.approval-requested": "awaiting-approval",
  "tool.started": "running",
  "tool.succeeded": "ended",
  "tool.failed": "ended",
  "tool.denied": "ended",
  "tool.skipped": "ended",
  "tool.unknown": "ended",
} as const;

export const callEvents = [
  "tool.approval-requested",
  "tool.started",
  "tool.succeeded",
  "tool.failed",
  "tool.denied",
  "tool.skipped",
  "tool.unknown",
] as const;

const holding: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>([
  "cancelled",
  "failed",
  "interrupted",
  "timed-out",
  "repeating",
]);

/** After such an end waiting messages start no turn by themselves: somebody wanted or has to look first. */
export function holdsQueue(reason: TurnEndReason): boolean {
  return holding.has(reason);
}
