/** Finds the processes, names and blobs of a recorded session. Pure. */

import type { SessionEvent } from "../events/index.ts";
import type { KnownBlob } from "../projections/index.ts";

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
    const end = `/${data.step}/${data.callId}`;
    if (data.effectId.endsWith(end)) made = data.effectId.slice(0, -end.length);
  }
  return made;
}

/** The recorded blobs, which messages and results refer to. */
export function recordedBlobs(
  events: readonly SessionEvent[],
): (sha256: string) => KnownBlob | undefined {
  const stored = events.filter((event) => event.type === "blob.stored");
  const known = new Map(stored.map(({ data: { sha256, ...blob } }) => [sha256, blob]));
  return (sha256) => known.get(sha256);
}
