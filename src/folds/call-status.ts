/** The status of a call to our own tools after each event about it. */

import type { SessionEvent } from "../events/index.ts";

/** `approved` and `refused` calls still have to be started or denied; a client runs one that is `awaiting-output`. */
export const openStatuses = [
  "waiting",
  "awaiting-approval",
  "approved",
  "refused",
  "awaiting-output",
  "running",
] as const;

const endedStatuses = ["succeeded", "failed", "denied", "skipped", "unknown"] as const;

export const callStatuses = [...openStatuses, ...endedStatuses] as const;

export type CallStatus = (typeof callStatuses)[number];
export type EndedStatus = (typeof endedStatuses)[number];

/** The status after each event that says it by its type. */
export const statusAfter = {
  "tool.approval-requested": "awaiting-approval",
  "tool.output-requested": "awaiting-output",
  "tool.started": "running",
  "tool.succeeded": "succeeded",
  "tool.failed": "failed",
  "tool.denied": "denied",
  "tool.skipped": "skipped",
  "tool.unknown": "unknown",
} as const satisfies Partial<Record<SessionEvent["type"], CallStatus>>;

/** An event that changes the status of a call. */
export type CallEvent = SessionEvent<keyof typeof statusAfter | "tool.approval-answered">;

export function isCallEvent(event: SessionEvent): event is CallEvent {
  return event.type === "tool.approval-answered" || Object.hasOwn(statusAfter, event.type);
}

/** The status after an event. An answer changes it only if the question is open. */
export function callStatusAfter<Before extends string>(
  before: Before,
  event: CallEvent,
): Before | CallStatus {
  if (event.type !== "tool.approval-answered") return statusAfter[event.type];
  if (before !== "awaiting-approval") return before;
  return event.data.approved ? "approved" : "refused";
}

const ended: ReadonlySet<string> = new Set(endedStatuses);

export function hasEnded(status: string): status is EndedStatus {
  return ended.has(status);
}

type CallTransitions<State> = {
  readonly [Type in CallEvent["type"]]: (state: State, event: CallEvent) => State;
};

/** One transition for all events that change the status of a call. */
export function onCallEvents<State>(
  change: (state: State, event: CallEvent) => State,
): CallTransitions<State> {
  return {
    "tool.approval-requested": change,
    "tool.approval-answered": change,
    "tool.output-requested": change,
    "tool.started": change,
    "tool.succeeded": change,
    "tool.failed": change,
    "tool.denied": change,
    "tool.skipped": change,
    "tool.unknown": change,
  };
}
