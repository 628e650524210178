/** The events that may move the machine. All others, deltas above all, go to the projections only. */

import type { SessionEvent } from "../events/index.ts";

/** Every structural type, for tests that must not forget one. */
export const structuralTypes = [
  "session.recovered",
  "session.resumed",
  "session.rewound",
  "session.closed",
  "message.queued",
  "message.delivered",
  "message.rescheduled",
  "message.withdrawn",
  "turn.started",
  "turn.cancel-requested",
  "turn.limit-reached",
  "turn.held",
  "turn.allowed",
  "turn.ended",
  "step.started",
  "step.retrying",
  "step.finished",
  "step.failed",
  "step.interrupted",
  "part.tool-call",
  "tool.approval-requested",
  "tool.approval-answered",
  "tool.output-requested",
  "tool.started",
  "tool.succeeded",
  "tool.failed",
  "tool.denied",
  "tool.skipped",
  "tool.unknown",
  "context.overflowed",
  "context.compaction-started",
  "context.compacted",
  "context.compaction-rejected",
] as const;
export type StructuralType = (typeof structuralTypes)[number];
export type StructuralEvent = SessionEvent<StructuralType>;

const types: ReadonlySet<string> = new Set(structuralTypes);

export function isStructural(event: SessionEvent): event is StructuralEvent {
  return types.has(event.type);
}
