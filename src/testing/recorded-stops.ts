/**
 * What ran where a turn was stopped: of a call that had been started, whether its tool came to run
 * before the stop. The replay has it the same way round. Pure.
 */

import type { SessionEvent } from "../events/index.ts";
import { isRun, recordedRuns } from "./replay-tools.ts";

/** The positions at which the calls were started whose tools ran at a position. */
export function runningAt(position: number, events: readonly SessionEvent[]): readonly number[] {
  return recordedRuns(events.slice(0, lastOf(position, events))).flatMap((run) => {
    const { position: start, data } = run.started;
    const isOver = events
      .slice(start, position - 1)
      .some((event) => isLeft(event) || (isEnd(event) && event.data.callId === data.callId));
    return start < position && !isOver && isRun(run) ? [start] : [];
  });
}

/** Whether a model had said its last word when a stop came: it came too late. */
export function isConcluded(position: number, events: readonly SessionEvent[]): boolean {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type.startsWith("step.") || type.startsWith("part.")),
  );
  return next?.type === "step.finished";
}

/** Whether a model was writing a summary at the position of a stop: it is told to stop, and that is recorded. */
export function isSummarising(position: number, events: readonly SessionEvent[]): boolean {
  const next = events.find(
    ({ position: place, type }) => place > position && type.startsWith("context."),
  );
  return next?.type === "context.summary-rejected" && next.data.why === "failed";
}

/** The end of the step or turn in which a position is: calls of the same id come behind it. */
function lastOf(position: number, events: readonly SessionEvent[]): number {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type === "step.started" || type === "turn.ended"),
  );
  return next?.position ?? events.length;
}

/** Whether whatever ran before no longer does: its step is over, or its process is gone. */
function isLeft({ type }: SessionEvent): boolean {
  return type === "step.started" || type === "session.recovered" || type === "session.forked";
}

function isEnd(
  event: SessionEvent,
): event is SessionEvent<"tool.succeeded" | "tool.failed" | "tool.unknown" | "tool.skipped"> {
  switch (event.type) {
    case "tool.succeeded":
    case "tool.failed":
    case "tool.unknown":
    case "tool.skipped":
      return true;
    default:
      return false;
  }
}
