/** What a process that died had left unfinished, and how that is put into words in the log. Pure. */

import type { EventBody, InFlight } from "../events/index.ts";
import { estimateSpent } from "../context/index.ts";
import type { SessionState } from "./session-state.ts";

/**
 * Whether a session can be left alone for any time: nothing runs, and nothing is about to. A turn
 * whose calls all wait for a person's approval is at rest too: the answer may come after a restart.
 */
export function isAtRest({ machine }: SessionState): boolean {
  if (machine.matches("tools")) {
    const { calls, skipCalls } = machine.context;
    const open = Object.values(calls).filter((call) => call !== "ended");
    // In a turn that stops nobody is asked any more: those calls are about to be skipped.
    return !skipCalls && open.every((call) => call === "awaiting-approval");
  }
  return machine.matches({ idle: "waiting" }) || machine.matches("closed");
}

/** What is unfinished in a state that has just been read from its log; undefined when nothing is. */
export function inFlight(state: SessionState): InFlight | undefined {
  const { machine } = state;
  const { turn, step, calls } = machine.context;
  if (isAtRest(state)) return undefined;
  if (machine.matches("idle")) return { kind: "nothing" };
  if (machine.matches("compacting")) return { kind: "compacting" };
  if (machine.matches("tools")) {
    const named = (running: boolean): readonly string[] =>
      Object.entries(calls).flatMap(([id, call]) =>
        call !== "ended" && (call === "running") === running ? [id] : [],
      );
    return { kind: "tools", turn, step, started: named(true), waiting: named(false) };
  }
  if (machine.matches({ streaming: "calling" }) || machine.matches({ streaming: "backingOff" })) {
    return { kind: "streaming", turn, step };
  }
  return machine.matches("streaming") ? { kind: "boundary", turn } : undefined;
}

/** The ends that the dead process did not get to record. */
export function settlement(state: SessionState): readonly EventBody[] {
  const { machine, history, usage } = state;
  const { step, calls } = machine.context;
  if (machine.matches("compacting")) {
    return [
      {
        type: "context.compaction-rejected",
        data: { strategy: "unknown", why: "recovered" },
      },
    ];
  }
  if (machine.matches("tools")) {
    return Object.entries(calls).flatMap(([callId, call]): readonly EventBody[] =>
      call === "running"
        ? [{ type: "tool.unknown", data: { step, callId, reason: "recovered" } }]
        : [],
    );
  }
  const spent = estimateSpent(usage, history);
  return [{ type: "step.interrupted", data: { step, reason: "recovered", usage: spent } }];
}
