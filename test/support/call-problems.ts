/** The tool calls of a log, each with what became of it. */

import type { SessionEvent } from "../../src/events/index.ts";

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
  // Each attempt at a step makes its own calls, with ids that may be the same.
  const attempts = new Map<number, number>();
  let step = 0;
  for (const event of events) {
    if (event.type === "step.started") {
      ({ step } = event.data);
      attempts.set(step, event.data.attempt);
    }
    if (event.type === "part.tool-call" && event.data.providerExecuted !== true) {
      const { toolCallId: callId } = event.data;
      const key = `${step}.${attempts.get(step)}/${callId}`;
      if (!calls.has(key)) calls.set(key, { step, callId, call: event, started: [], ends: [] });
    }
    if (event.type !== "tool.started" && !isEnd(event)) continue;
    const key = `${event.data.step}.${attempts.get(event.data.step)}/${event.data.callId}`;
    const call = calls.get(key);
    if (call === undefined)
      throw new Error(`${event.position} ${event.type} is of no call: ${key}`);
    calls.set(
      key,
      isEnd(event)
        ? { ...call, ends: [...call.ends, event] }
        : { ...call, started: [...call.started, event] },
    );
  }
  return [...calls.values()];
}

/** Calls without an end, of a log that is over. */
export function openCallProblems(events: readonly SessionEvent[]): readonly string[] {
  return callRecords(events).flatMap(({ step, callId, ends }) =>
    ends.length === 0 ? [`call ${callId} of step ${step} has no end`] : [],
  );
}
