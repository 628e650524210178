/**
 * Law 6: every call of our own tools ends once, in one of five ways; a tool is started once, and
 * again only after its process died, with the same effect id. Only `skipped`, `denied` and `failed`
 * may come without a start.
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

/** A second start is an attempt more at the same effect, by a process that recovered from a death. */
function startProblems(
  events: readonly SessionEvent[],
  name: string,
  start: SessionEvent<"tool.started">,
  before: SessionEvent<"tool.started"> | undefined,
): readonly string[] {
  const problems: string[] = [];
  if (start.data.attempt !== (before?.data.attempt ?? 0) + 1) {
    problems.push(`${name} is started as attempt ${start.data.attempt}`);
  }
  if (before === undefined) return problems;
  if (start.data.effectId !== before.data.effectId) problems.push(`${name} changes its effect id`);
  const died = events.some(
    ({ type, seq }) => type === "session.recovered" && seq > before.seq && seq < start.seq,
  );
  if (!died) problems.push(`${name} is started again although nobody died`);
  return problems;
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
    problems.push(
      ...started.flatMap((one, index) => startProblems(events, name, one, started[index - 1])),
    );
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
