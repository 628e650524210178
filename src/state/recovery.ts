/** Whether a session is at rest, what a dead process left unfinished, and the events that settle it. Pure. */

import { entriesOf, entryOf, segmentOf, type EventBody, type InFlight } from "../events/index.ts";
import { estimateSpent } from "../context/index.ts";
import { isHeld, isWaiting, openCalls, type HeldBudget } from "../machines/index.ts";
import { standingAnswer } from "../projections/index.ts";
import { interruptedPolicy, type Agent } from "../agent/index.ts";
import type { SessionState } from "./session-state.ts";

/**
 * Whether nothing runs or is about to. A turn whose open calls all wait for approval or for a client's
 * output, or that is held by a limit of spending, is at rest too: the answer may come after a restart.
 */
export function isAtRest(state: SessionState): boolean {
  const { machine } = state;
  if (machine.value === "tools") {
    // A quick check first: this runs after each event, and a step may have thousands of calls.
    const { open, asking } = openCalls(machine.context);
    if (open > asking) return false;
    const { calls } = machine.context;
    return entriesOf(calls).every(([id, call]) => call === "ended" || isAwaited(state, id));
  }
  return isIdle(state) || isHeld(machine);
}

/** The limit of spending that holds the turn. */
export function heldBudget({ machine }: SessionState): HeldBudget | undefined {
  return isHeld(machine) ? machine.context.budget : undefined;
}

/** Whether a call of the running step waits for an answer that a person or a client can still give. */
export function isAwaited(state: SessionState, callId: string): boolean {
  const { calls, skipCalls, stopping } = state.machine.context;
  // A stopping turn skips the calls that wait.
  if (skipCalls || stopping !== undefined) return false;
  const call = entryOf(calls, callId);
  return (
    call === "awaiting-output" || (call === "awaiting-approval" && waitsForPerson(state, callId))
  );
}

/** Whether no turn and no compaction runs or is about to begin. */
export function isIdle({ machine }: SessionState): boolean {
  return isWaiting(machine) || machine.value === "closed";
}

export function isInTurn({ value, context }: SessionState["machine"]): boolean {
  if (value === "compacting") return context.compactingFrom !== "idle";
  return value === "tools" || (typeof value === "object" && "streaming" in value);
}

/** What a dead process left unfinished; undefined if nothing. */
export function inFlight(state: SessionState): InFlight | undefined {
  const { machine } = state;
  const { turn, step, calls } = machine.context;
  if (isAtRest(state)) return undefined;
  if (machine.matches("idle")) return { kind: "nothing" };
  if (machine.matches("compacting")) return { kind: "compacting" };
  if (machine.matches("tools")) {
    const open = entriesOf(calls).flatMap(([id, call]) => (call === "ended" ? [] : [id]));
    const started = open.filter((id) => attemptsAt(state, id) > 0);
    const waiting = open.filter((id) => attemptsAt(state, id) === 0);
    return { kind: "tools", turn, step, started, waiting };
  }
  if (
    machine.matches({ streaming: "calling" }) ||
    machine.matches({ streaming: "backingOff" }) ||
    machine.matches({ streaming: "overflowed" })
  ) {
    return { kind: "streaming", turn, step };
  }
  return machine.matches("streaming") ? { kind: "boundary", turn } : undefined;
}

export function settlement(state: SessionState, agent: Agent): readonly EventBody[] {
  const { machine, history, usage, toolCalls } = state;
  const { step, calls, skipCalls } = machine.context;
  if (machine.matches("compacting")) {
    return [
      {
        type: "context.compaction-rejected",
        data: { strategy: "unknown", why: "recovered" },
      },
    ];
  }
  if (machine.matches("tools")) {
    return entriesOf(calls).flatMap(([callId, call]): readonly EventBody[] => {
      if (call !== "running") return [];
      const toolName = toolCalls.open.find((one) => one.callId === callId)?.toolName ?? "";
      const policy = skipCalls ? "report" : interruptedPolicy(agent, toolName);
      // The tool runner runs it again, with the same effect id.
      if (policy === "retry") return [];
      if (policy === "report") {
        return [{ type: "tool.unknown", data: { step, callId, reason: "recovered" } }];
      }
      const reason =
        "It had been started when the process died; its outcome is unknown. Run it again?";
      return [{ type: "tool.approval-requested", data: { step, callId, toolName, reason } }];
    });
  }
  const spent = estimateSpent(usage, history);
  return [{ type: "step.interrupted", data: { step, reason: "recovered", usage: spent } }];
}

/** An `always` answer applies to a call, unless a dead process had started it. */
export function waitsForPerson(state: SessionState, callId: string): boolean {
  return attemptsAt(state, callId) > 0 || standingAnswer(state.approvals, callId) === undefined;
}

/**
 * The id of a call's effect: the session in which the model made the call, its step and its call id. It is
 * the same for every attempt and in every fork, so that an idempotent tool acts once.
 */
export function effectIdOf(
  { session, state }: { readonly session: string; readonly state: SessionState },
  step: number,
  callId: string,
): string {
  const call = state.toolCalls.open.find((one) => one.callId === callId);
  return call?.effectId ?? `${segmentOf(call?.origin ?? session)}/${step}/${callId}`;
}

/** The tools that open calls need. */
export function calledTools({ toolCalls }: SessionState): readonly string[] {
  return toolCalls.open.map(({ toolName }) => toolName);
}

/** Whether a call was started and nothing says how that attempt ended: a question ends one. */
export function hasUnknownAttempt({ toolCalls }: SessionState, callId: string): boolean {
  const call = toolCalls.open.find((one) => one.callId === callId);
  return call !== undefined && call.attempts > (call.asked ?? 0);
}

/** How often a call of the running step was started, in all processes. */
export function attemptsAt({ toolCalls }: SessionState, callId: string): number {
  return toolCalls.open.find((call) => call.callId === callId)?.attempts ?? 0;
}
