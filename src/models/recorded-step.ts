/** The model calls that a log holds, each with what came of it. Pure. */

import type { SessionEvent } from "../events/index.ts";

export type StepEnd = SessionEvent<
  "step.finished" | "step.failed" | "step.retrying" | "step.interrupted" | "context.overflowed"
>;

/** One attempt at a step. */
export interface RecordedCall {
  readonly started: SessionEvent<"step.started">;
  /** Its parts, in order. */
  readonly parts: readonly SessionEvent[];
  /** Undefined where the process died before it. */
  readonly end: StepEnd | undefined;
  /** From where on its end is recorded: calls that are given up before another attempt come with it. */
  readonly endsAt: number | undefined;
}

export function recordedCalls(events: readonly SessionEvent[]): readonly RecordedCall[] {
  const calls: RecordedCall[] = [];
  let parts: SessionEvent[] = [];
  let skipped: number | undefined;
  for (const event of events) {
    const last = calls.at(-1);
    switch (event.type) {
      case "step.started":
        parts = [];
        calls.push({ started: event, parts, end: undefined, endsAt: undefined });
        break;
      case "step.finished":
      case "step.failed":
      case "step.retrying":
      case "step.interrupted":
      case "context.overflowed":
        if (last?.end === undefined && last !== undefined)
          calls[calls.length - 1] = { ...last, end: event, endsAt: skipped ?? event.seq };
        break;
      default:
        if (event.type.startsWith("part.")) parts.push(event);
    }
    skipped = event.type === "tool.skipped" ? (skipped ?? event.seq) : undefined;
  }
  return calls;
}
