/** Where the end of something was recorded that ends by itself: what was recorded before it comes first. Pure. */

import { byId, type EventType, type SessionEvent } from "../events/index.ts";
import { type Agent, DEFAULT_TOOL_CONCURRENCY } from "../agent/index.ts";
import type { Ending } from "../state/index.ts";

/**
 * The position of the next end of that kind; undefined where none was recorded, or nothing has to wait.
 * @param position - Where the session stands.
 */
export function endingAt(
  events: readonly SessionEvent[],
  position: number,
  ending: Ending,
  agent: Agent,
): number | undefined {
  const next = (types: ReadonlySet<EventType>, callId?: string): SessionEvent | undefined =>
    events.find(
      ({ position: place, type, data }) =>
        place > position &&
        types.has(type) &&
        (callId === undefined || ("callId" in data && data.callId === callId)),
    );
  switch (ending.kind) {
    case "step":
      return next(stepEnds)?.position;
    case "call":
      return next(callEnds, ending.callId)?.position;
    case "decision": {
      const decided = next(decisions, ending.callId);
      if (decided?.type !== "tool.started") return decided?.position;
      return Math.max(position + 1, sinceFull(events, decided, agent));
    }
    case "compaction":
    case "summary": {
      const event = events.find(
        ({ position: place, type }) => place > position && type.startsWith("context."),
      );
      const isAsked = ending.kind === "compaction" && event !== undefined && isAnswer(event);
      return isAsked ? undefined : event?.position;
    }
  }
}

const stepEnds: ReadonlySet<EventType> = new Set<EventType>([
  // Before another attempt, the calls of this one are given up.
  "tool.skipped",
  "step.finished",
  "step.failed",
  "step.retrying",
  "step.interrupted",
  "context.overflowed",
]);

const callEnds: ReadonlySet<EventType> = new Set<EventType>([
  "tool.succeeded",
  "tool.failed",
  "tool.unknown",
]);

const decisions: ReadonlySet<EventType> = new Set<EventType>([
  ...callEnds,
  "tool.started",
  "tool.approval-requested",
  "tool.denied",
  "tool.skipped",
]);

/** Whether a model wrote it, which answers when it is due. */
function isAnswer({ type, data }: SessionEvent): boolean {
  if (type === "context.summary-rejected") return data.why !== "no-room";
  return type === "context.compacted" && data.rung !== undefined && data.rung !== "digest";
}

/**
 * From where on a call that was started may have been allowed: where it had to wait for a place, that
 * was known before the place came free, and others have theirs in the order of the calls.
 */
function sinceFull(
  events: readonly SessionEvent[],
  { position, data: { toolName } }: SessionEvent<"tool.started">,
  { toolConcurrency = DEFAULT_TOOL_CONCURRENCY, toolPolicies = {} }: Agent,
): number {
  const most = byId(toolPolicies, toolName)?.concurrency ?? Number.POSITIVE_INFINITY;
  const isFull = (place: number): boolean => {
    const names = [...runningBehind(events, place).values()];
    return (
      names.length >= toolConcurrency || names.filter((name) => name === toolName).length >= most
    );
  };
  let behind = position - 2;
  if (!isFull(behind)) return position;
  while (isFull(behind - 1)) behind -= 1;
  return behind + 1;
}

/** The names of the tools that run behind a position, by call id. */
function runningBehind(
  events: readonly SessionEvent[],
  position: number,
): ReadonlyMap<string, string> {
  const running = new Map<string, string>();
  for (const { type, data } of events.slice(0, position)) {
    switch (type) {
      case "step.started":
      case "session.recovered":
        running.clear();
        break;
      case "tool.started":
        running.set(data.callId, data.toolName);
        break;
      case "tool.succeeded":
      case "tool.failed":
      case "tool.unknown":
        running.delete(data.callId);
        break;
      default:
    }
  }
  return running;
}
