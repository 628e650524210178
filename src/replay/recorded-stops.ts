/** Finds what ran when a turn was stopped: whether a started call had reached its tool is replayed, too. Pure. */

import { isCallEnd, type SessionEvent } from "../events/index.ts";
import { isRun, recordedRuns } from "./replay-tools.ts";

/** The positions of the starts of the calls whose tools ran at a position. */
export function runningAt(position: number, events: readonly SessionEvent[]): readonly number[] {
  return recordedRuns(events.slice(0, lastOf(position, events))).flatMap((run) => {
    const { position: start, data } = run.started;
    const isOver = events
      .slice(start, position - 1)
      .some((event) => isLeft(event) || (isCallEnd(event) && event.data.callId === data.callId));
    return start < position && !isOver && isRun(run) ? [start] : [];
  });
}

/** Whether a stop came after the last part of a model, too late for it. */
export function isConcluded(position: number, events: readonly SessionEvent[]): boolean {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type.startsWith("step.") || type.startsWith("part.")),
  );
  return next?.type === "step.finished";
}

/** Whether a model was writing a summary when a stop came, which is recorded. */
export function isSummarising(position: number, events: readonly SessionEvent[]): boolean {
  const next = events.find(
    ({ position: place, type }) => place > position && type.startsWith("context."),
  );
  return next?.type === "context.summary-rejected" && next.data.why === "failed";
}

/** The end of the step or turn around a position: later calls may have the same id. */
function lastOf(position: number, events: readonly SessionEvent[]): number {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type === "step.started" || type === "turn.ended"),
  );
  return next?.position ?? events.length;
}

/** Whether everything that ran before has ended: its step is over, or its process died. */
function isLeft({ type }: SessionEvent): boolean {
  return type === "step.started" || type === "session.recovered" || type === "session.forked";
}
