/** Finds where waits ended in a recording, and its processes. No time passes in a replay. Pure. */

import { callerOf, type EventType, type SessionEvent } from "../events/index.ts";
import type { Wait } from "../shared/index.ts";
import type { KnownBlob } from "../projections/index.ts";

/** Whether the next bill or count was recorded as the provider gave it: older releases doubted none. */
export function isNextBelieved(events: readonly SessionEvent[], position: number): boolean {
  const next = events.find(
    ({ position: place, type, data }) =>
      place > position &&
      (type === "context.counted" ||
        type === "context.count-failed" ||
        ("usage" in data && data.usage !== undefined)),
  );
  if (next === undefined || next.type === "context.count-failed") return false;
  const usage = "usage" in next.data ? next.data.usage : undefined;
  return !(typeof usage === "object" && usage !== null && "reported" in usage);
}

const attemptEnds: ReadonlySet<EventType> = new Set<EventType>([
  "step.finished",
  "step.failed",
  "step.retrying",
  "step.interrupted",
  "context.overflowed",
]);

/**
 * The position of the event that a wait ended with; undefined if it did not end, and for time limits of
 * turns: no earlier event shows when one is reached. `position`: of the session when the wait begins.
 */
export function waitEnd(
  events: readonly SessionEvent[],
  position: number,
  wait: Wait,
): number | undefined {
  const after = events.slice(position);
  switch (wait.kind) {
    case "retry":
      return after.find(({ type }) => type === "step.started")?.position;
    case "summary-retry":
      // Nothing is recorded between two attempts at a summary.
      return position + 1;
    case "model":
      return latenessBegins(events, after.find(isAttemptEnd), wait.limit);
    case "tool":
    case "grace":
      return after.find(
        ({ type, data }) =>
          type === "tool.unknown" &&
          data.callId === wait.callId &&
          data.reason !== "recovered" &&
          (wait.kind === "grace" || data.reason === "timed-out"),
      )?.position;
    case "turn":
    // In a replay, a late count is a failed one.
    case "count":
    // The recorded event that the time has come is repeated as a command.
    case "later":
    case "background":
      return undefined;
  }
}

function isAttemptEnd({ type }: SessionEvent): boolean {
  return attemptEnds.has(type);
}

/** Before a late attempt is repeated, its calls are skipped. */
function latenessBegins(
  events: readonly SessionEvent[],
  end: SessionEvent | undefined,
  limit: string,
): number | undefined {
  if (end?.type !== "step.failed" && end?.type !== "step.retrying") return undefined;
  const { kind, error } = end.data;
  if (kind !== "timeout" || !error.message.endsWith(`for ${limit}.`)) return undefined;
  let { position } = end;
  while (events[position - 2]?.type === "tool.skipped") position -= 1;
  return position;
}

// Finds the processes, names and blobs of a recorded session. Pure.

/** Whether a process opened the session here. A change of the agent followed by a recovery counts once. */
export function isOpening({ type }: SessionEvent, before: SessionEvent | undefined): boolean {
  if (type === "session.created" || type === "session.configured") return true;
  if (type === "session.forked") return true;
  return type === "session.recovered" && before?.type !== "session.configured";
}

/** Whether the process that opened the session at `opened` had died at `position`: the next process wrote there. */
export function isGone(position: number, opened: number, events: readonly SessionEvent[]): boolean {
  const event = events[position - 1];
  return event !== undefined && position > opened && isOpening(event, events[position - 2]);
}

/** The first of the events that were recorded together with an event: its blobs. */
export function beginOf(position: number, events: readonly SessionEvent[]): number {
  let begin = position;
  while (events[begin - 2]?.type === "blob.stored") begin -= 1;
  return begin;
}

/**
 * The name of the session that wrote the events after a position, up to the next fork. Only a fork, or
 * the effect ids of calls that were made there, show it.
 */
export function sessionName(events: readonly SessionEvent[], after: number): string | undefined {
  let made: string | undefined;
  // Calls from before a fork keep their effect ids.
  let isOwn = false;
  for (const { type, data } of events.slice(after)) {
    if (type === "session.forked") return data.from.session;
    if (type === "step.started") isOwn = true;
    if (type !== "tool.started" || made !== undefined || !isOwn) continue;
    made = callerOf(data);
  }
  return made;
}

/** The recorded blobs, which messages and results refer to. Text that is too short for any of them stays as it is. */
export function recordedBlobs(events: readonly SessionEvent[]): {
  readonly recorded: (sha256: string) => KnownBlob | undefined;
  readonly inlineBytes?: number;
} {
  const stored = events.filter((event) => event.type === "blob.stored");
  const known = new Map(stored.map(({ data: { sha256, ...blob } }) => [sha256, blob]));
  const recorded = (sha256: string): KnownBlob | undefined => known.get(sha256);
  if (known.size === 0) return { recorded };
  return { recorded, inlineBytes: Math.min(...[...known.values()].map(({ bytes }) => bytes)) };
}
