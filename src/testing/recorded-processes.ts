/** What a log tells of the processes that its session had. Pure. */

import type { SessionEvent } from "../events/index.ts";

/** Whether a process opened the session here: once for a change of the agent and a recovery in a row. */
export function isOpening({ type }: SessionEvent, before: SessionEvent | undefined): boolean {
  if (type === "session.created" || type === "session.configured") return true;
  if (type === "session.forked") return true;
  return type === "session.recovered" && before?.type !== "session.configured";
}

/** Whether the process that opened the session at one position was gone before another: the next one wrote there. */
export function isGone(position: number, opened: number, events: readonly SessionEvent[]): boolean {
  const event = events[position - 1];
  return event !== undefined && position > opened && isOpening(event, events[position - 2]);
}

/** Where that begins which is recorded together with an event: the blobs that it refers to. */
export function beginOf(position: number, events: readonly SessionEvent[]): number {
  let begin = position;
  while (events[begin - 2]?.type === "blob.stored") begin -= 1;
  return begin;
}

/**
 * What the session is called that wrote the events behind a position, up to the next fork: that one
 * says it, or the effect ids of calls that were made there. Nothing else of a session tells its name.
 */
export function sessionName(events: readonly SessionEvent[], after: number): string | undefined {
  let made: string | undefined;
  // Calls that were made before a fork keep the effect ids that they had.
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
