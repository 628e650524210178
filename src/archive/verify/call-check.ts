/**
 * Law 6: every call of our own tools ends once, in one of five ways, and before the next attempt or
 * step and the end of its turn; a tool is started once, and again only after its process died, with
 * the same effect id. Only `skipped`, `denied` and `failed` may come without a start.
 */

import type { SessionEvent } from "../../events/index.ts";
import { nothing, type Check } from "./check.ts";

type CallEnd = SessionEvent<
  "tool.succeeded" | "tool.failed" | "tool.denied" | "tool.skipped" | "tool.unknown"
>;

interface Call {
  readonly name: string;
  /** The last of its starts. */
  start?: SessionEvent<"tool.started">;
  ends: number;
}

export function callCheck(): Check {
  /** Each attempt at a step makes its own calls, with ids that may be the same. */
  const attempts = new Map<number, number>();
  const calls = new Map<string, Call>();
  /** Those that have not ended, of the running step. */
  const open = new Set<Call>();
  let step = 0;
  /** The position at which a process last went on after a death. */
  let recovered = 0;

  function keyOf(ofStep: number, callId: string): string {
    return `${ofStep}.${attempts.get(ofStep)}/${callId}`;
  }

  function made({ data }: SessionEvent<"part.tool-call">): readonly string[] {
    const key = keyOf(step, data.toolCallId);
    if (data.providerExecuted === true || calls.has(key)) return nothing;
    const call = { name: `call ${data.toolCallId} of step ${step}`, ends: 0 };
    calls.set(key, call);
    open.add(call);
    return nothing;
  }

  function of({ data }: SessionEvent<"tool.started"> | CallEnd): Call | undefined {
    return calls.get(keyOf(data.step, data.callId));
  }

  function started(event: SessionEvent<"tool.started">): readonly string[] {
    const call = of(event);
    if (call === undefined) return [`${event.type} is of no call`];
    const { name, start: before, ends } = call;
    const { attempt, effectId } = event.data;
    call.start = event;
    return [
      ...(attempt === (before?.data.attempt ?? 0) + 1
        ? []
        : [`${name} is started as attempt ${attempt}`]),
      ...(before === undefined || effectId === before.data.effectId
        ? []
        : [`${name} changes its effect id`]),
      ...(before === undefined || recovered > before.position
        ? []
        : [`${name} is started again although nobody died`]),
      ...(ends > 0 ? [`${name} is started after its end`] : []),
    ];
  }

  function ended(event: CallEnd): readonly string[] {
    const call = of(event);
    if (call === undefined) return [`${event.type} is of no call`];
    call.ends += 1;
    open.delete(call);
    const { type } = event;
    const neverRan = type === "tool.skipped" || type === "tool.denied";
    const needsStart = type === "tool.succeeded" || type === "tool.unknown";
    return [
      ...(call.ends > 1 ? [`${call.name} ends ${call.ends} times`] : []),
      ...(call.start === undefined && needsStart
        ? [`${call.name} was never started and is ${type}`]
        : []),
      ...(call.start !== undefined && neverRan ? [`${call.name} was started and is ${type}`] : []),
    ];
  }

  function leftOpen(): readonly string[] {
    const problems = [...open].map(({ name }) => `${name} has no end`);
    open.clear();
    return problems;
  }

  return {
    rule: "calls",
    see(event) {
      switch (event.type) {
        case "session.recovered":
          recovered = event.position;
          return nothing;
        case "step.started":
          ({ step } = event.data);
          attempts.set(step, event.data.attempt);
          return leftOpen();
        case "turn.ended":
          return leftOpen();
        case "part.tool-call":
          return made(event);
        case "tool.started":
          return started(event);
        case "tool.succeeded":
        case "tool.failed":
        case "tool.denied":
        case "tool.skipped":
        case "tool.unknown":
          return ended(event);
        default:
          return nothing;
      }
    },
    // A log may end anywhere: whoever opens the session settles what is open.
    end: () => nothing,
  };
}
