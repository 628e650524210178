/** The events that may move the machine. All others, deltas above all, go to the folds only. */

import type { SessionEvent } from "../events/index.ts";

export type StructuralType =
  | "session.recovered"
  | "session.resumed"
  | "session.closed"
  | "message.queued"
  | "message.delivered"
  | "message.rescheduled"
  | "message.withdrawn"
  | "turn.started"
  | "turn.cancel-requested"
  | "turn.limit-reached"
  | "turn.ended"
  | "step.started"
  | "step.retrying"
  | "step.finished"
  | "step.failed"
  | "step.interrupted"
  | "part.tool-call"
  | "tool.approval-requested"
  | "tool.approval-answered"
  | "tool.started"
  | "tool.succeeded"
  | "tool.failed"
  | "tool.denied"
  | "tool.skipped"
  | "tool.unknown"
  | "context.overflowed"
  | "context.compaction-started"
  | "context.compacted"
  | "context.compaction-rejected";
export type StructuralEvent = SessionEvent<StructuralType>;

const structural: Readonly<Record<StructuralType, true>> = {
  "session.recovered": true,
  "session.resumed": true,
  "session.closed": true,
  "message.queued": true,
  "message.delivered": true,
  "message.rescheduled": true,
  "message.withdrawn": true,
  "turn.started": true,
  "turn.cancel-requested": true,
  "turn.limit-reached": true,
  "turn.ended": true,
  "step.started": true,
  "step.retrying": true,
  "step.finished": true,
  "step.failed": true,
  "step.interrupted": true,
  "part.tool-call": true,
  "tool.approval-requested": true,
  "tool.approval-answered": true,
  "tool.started": true,
  "tool.succeeded": true,
  "tool.failed": true,
  "tool.denied": true,
  "tool.skipped": true,
  "tool.unknown": true,
  "context.overflowed": true,
  "context.compaction-started": true,
  "context.compacted": true,
  "context.compaction-rejected": true,
};

/** Every structural type, for tests that must not forget one. */
export const structuralTypes: readonly string[] = Object.keys(structural);
const types: ReadonlySet<string> = new Set(structuralTypes);

export function isStructural(event: SessionEvent): event is StructuralEvent {
  return types.has(event.type);
}
