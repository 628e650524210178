/**
 * Law 6: every call of our own tools ends once, in one of five ways, and before the next step and
 * the end of its turn; a tool is started at most once, and only `skipped`, `denied` and `failed`
 * may come without a start.
 */

import type { SessionEvent } from "../../events/index.ts";
import { nothing, type Check } from "./check.ts";

type CallEnd = SessionEvent<
  "tool.succeeded" | "tool.failed" | "tool.denied" | "tool.skipped" | "tool.unknown"
>;

interface Call {
  readonly name: string;
  starts: number;
  ends: number;
}

export function callCheck(): Check {
  const calls = new Map<string, Call>();
  /** Those that have not ended, of the running step. */
  const open = new Set<Call>();
  let step = 0;

  function made({ data }: SessionEvent<"part.tool-call">): readonly string[] {
    const key = `${step}/${data.toolCallId}`;
    if (data.providerExecuted === true || calls.has(key)) return nothing;
    const call = { name: `call ${data.toolCallId} of step ${step}`, starts: 0, ends: 0 };
    calls.set(key, call);
    open.add(call);
    return nothing;
  }

  function of(event: SessionEvent<"tool.started"> | CallEnd): Call | undefined {
    return calls.get(`${event.data.step}/${event.data.callId}`);
  }

  function started(event: SessionEvent<"tool.started">): readonly string[] {
    const call = of(event);
    if (call === undefined) return [`${event.type} is of no call`];
    call.starts += 1;
    return [
      ...(call.starts > 1 ? [`${call.name} is started ${call.starts} times`] : []),
      ...(call.ends > 0 ? [`${call.name} is started after its end`] : []),
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
      ...(call.starts === 0 && needsStart ? [`${call.name} was never started and is ${type}`] : []),
      ...(call.starts > 0 && neverRan ? [`${call.name} was started and is ${type}`] : []),
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
        case "step.started": {
          const problems = event.data.step === step ? nothing : leftOpen();
          ({ step } = event.data);
          return problems;
        }
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
