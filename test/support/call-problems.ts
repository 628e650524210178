/**
 * Law 6: every call of our own tools ends once, in one of five ways; a tool is started at most
 * once, and only `skipped`, `denied` and `failed` may come without a start.
 */

import type { SessionEvent } from "../../src/events/index.ts";
import type { Replay } from "./replay.ts";

export interface CallRecord {
  readonly step: number;
  readonly callId: string;
  readonly call: SessionEvent<"part.tool-call">;
  readonly started: readonly SessionEvent<"tool.started">[];
  readonly ends: readonly CallEnd[];
}

type CallEnd = SessionEvent<
  "tool.succeeded" | "tool.failed" | "tool.denied" | "tool.skipped" | "tool.unknown"
>;

function isEnd(event: SessionEvent): event is CallEnd {
  return (
    event.type === "tool.succeeded" ||
    event.type === "tool.failed" ||
    event.type === "tool.denied" ||
    event.type === "tool.skipped" ||
    event.type === "tool.unknown"
  );
}

/** Every call that is ours to answer, with what became of it, in the order in which they were made. */
export function callRecords(events: readonly SessionEvent[]): readonly CallRecord[] {
  const calls = new Map<string, CallRecord>();
  let step = 0;
  for (const event of events) {
    if (event.type === "step.started") ({ step } = event.data);
    if (event.type === "part.tool-call" && event.data.providerExecuted !== true) {
      const { toolCallId: callId } = event.data;
      const key = `${step}/${callId}`;
      if (!calls.has(key)) calls.set(key, { step, callId, call: event, started: [], ends: [] });
    }
    if (event.type !== "tool.started" && !isEnd(event)) continue;
    const key = `${event.data.step}/${event.data.callId}`;
    const call = calls.get(key);
    if (call === undefined) throw new Error(`${event.seq} ${event.type} is of no call: ${key}`);
    calls.set(
      key,
      isEnd(event)
        ? { ...call, ends: [...call.ends, event] }
        : { ...call, started: [...call.started, event] },
    );
  }
  return [...calls.values()];
}

export function callProblems(
  { events }: Pick<Replay, "events">,
  { cutOff }: { readonly cutOff: boolean },
): readonly string[] {
  return callRecords(events).flatMap(({ step, callId, started, ends }) => {
    const name = `call ${callId} of step ${step}`;
    const [start, end] = [started[0], ends[0]];
    const problems: string[] = [];
    if (ends.length > 1) problems.push(`${name} ends ${ends.length} times`);
    if (end === undefined && !cutOff) problems.push(`${name} has no end`);
    if (started.length > 1) problems.push(`${name} is started ${started.length} times`);
    if (end === undefined) return problems;
    if (start === undefined && (end.type === "tool.succeeded" || end.type === "tool.unknown")) {
      problems.push(`${name} was never started and is ${end.type}`);
    }
    if (start !== undefined && (end.type === "tool.skipped" || end.type === "tool.denied")) {
      problems.push(`${name} was started and is ${end.type}`);
    }
    if (start !== undefined && start.seq > end.seq)
      problems.push(`${name} is started after its end`);
    return problems;
  });
}
