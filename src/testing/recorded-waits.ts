/** Finds when a wait of a recorded session ended, since no time passes in a replay. Pure. */

import type { EventType, SessionEvent } from "../events/index.ts";
import type { Wait } from "../shared/index.ts";

/**
 * The position of the event that a wait ended with; undefined if it did not end. Time limits of turns are
 * not included: no earlier event shows when one is reached.
 * @param position - The position of the session when the wait begins.
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
      return latenessBegins(events, after.find(isStepEnd), wait.limit);
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
      return undefined;
  }
}

const stepEnds: ReadonlySet<EventType> = new Set<EventType>([
  "step.finished",
  "step.failed",
  "step.retrying",
  "step.interrupted",
  "context.overflowed",
]);

function isStepEnd({ type }: SessionEvent): boolean {
  return stepEnds.has(type);
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
