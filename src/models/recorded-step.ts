/** The model calls in a log with their parts and ends. Pure. */

import type { SessionEvent } from "../events/index.ts";

export type StepEnd = SessionEvent<
  "step.finished" | "step.failed" | "step.retrying" | "step.interrupted" | "context.overflowed"
>;

export interface RecordedCall {
  readonly started: SessionEvent<"step.started">;
  readonly parts: readonly SessionEvent[];
  /** Undefined if the process died before it. */
  readonly end: StepEnd | undefined;
  /**
   * The position from which the call may end: before calls that are skipped with it, before a reduction, and
   * before a stop that came too late.
   */
  readonly endsAt: number | undefined;
}

export function recordedCalls(events: readonly SessionEvent[]): readonly RecordedCall[] {
  const calls: RecordedCall[] = [];
  let parts: SessionEvent[] = [];
  let stopped: number | undefined;
  for (const event of events) {
    const last = calls.at(-1);
    switch (event.type) {
      case "step.started":
        parts = [];
        stopped = undefined;
        calls.push({ started: event, parts, end: undefined, endsAt: undefined });
        break;
      case "step.finished":
      case "step.failed":
      case "step.retrying":
      case "step.interrupted":
      case "context.overflowed":
        if (last?.end === undefined && last !== undefined) {
          const late = event.type === "step.finished" ? stopped : undefined;
          const endsAt = late ?? last.endsAt ?? event.position;
          calls[calls.length - 1] = { ...last, end: event, endsAt };
        }
        break;
      case "tool.skipped":
      case "context.reduced":
        // After the end of a step, calls are skipped for other reasons.
        if (last !== undefined && last.end === undefined && last.endsAt === undefined)
          calls[calls.length - 1] = { ...last, endsAt: event.position };
        break;
      default:
        if (!event.type.startsWith("part.")) break;
        parts.push(event);
        stopped = undefined;
    }
    if (isStop(event)) stopped ??= event.position;
  }
  return calls;
}

export function isTimeUp(event: SessionEvent): boolean {
  return event.type === "turn.limit-reached" && event.data.limit === "time";
}

/** Whether the running step was stopped here, by a person or by the time limit. */
export function isStop(event: SessionEvent): boolean {
  if (event.type === "turn.cancel-requested") return event.data.mode !== "after-tools";
  return isTimeUp(event);
}
