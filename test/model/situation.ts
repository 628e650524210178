/**
 * Where a session is: the machine, with what is known of the runtime around it. Pure. Folded from
 * the events of a log, whoever recorded them.
 */

import type { SessionEvent } from "../../src/events/index.ts";
import { initialMachineState, machineFold, type MachineStep } from "../../src/machines/index.ts";

/** What the agent of a test is like. */
export interface World {
  readonly maxSteps: number;
  readonly maxAttempts: number;
  readonly toolConcurrency: number;
}

export interface Situation {
  readonly machine: MachineStep["snapshot"];
  /** Which tool each call of the running step is of. */
  readonly kinds: Readonly<Record<string, string>>;
  /** The calls of the running step in the order in which they were started. */
  readonly started: readonly string[];
  /** The running attempt has said something: it is not made again. */
  readonly spoken: boolean;
  /** A new process puts into words what the dead one did not get to say. */
  readonly settling: boolean;
  /** The tools that were told to stop have had their time. */
  readonly graceOver: boolean;
  /** Messages that were accepted so far. */
  readonly accepted: number;
  /** Something was delivered since the last compaction, so that another one can gain something. */
  readonly bulky: boolean;
  /** The process is dead, and an event stands in the log that it would not have recorded. */
  readonly cut: boolean;
}

export const beginning: Situation = {
  machine: initialMachineState,
  kinds: {},
  started: [],
  spoken: false,
  settling: false,
  graceOver: false,
  accepted: 0,
  bulky: false,
  cut: false,
};

/** The situation after an event of the log, whoever recorded it. Events that mean nothing change nothing. */
export function after(situation: Situation, event: SessionEvent): Situation {
  const machine = machineFold(situation.machine, event).snapshot;
  const said = event.type.startsWith("part.") && !silent.has(event.type);
  const moved = { ...situation, machine, spoken: situation.spoken || said };
  switch (event.type) {
    case "message.queued":
      return { ...moved, accepted: situation.accepted + 1 };
    case "message.delivered":
      return { ...moved, bulky: true };
    case "context.compacted":
      return { ...moved, settling: false, bulky: false };
    case "step.started":
      return { ...moved, kinds: {}, started: [], spoken: false, graceOver: false };
    case "part.tool-call": {
      const { toolCallId, toolName } = event.data;
      return { ...moved, kinds: { ...situation.kinds, [toolCallId]: toolName } };
    }
    case "tool.started":
      return { ...moved, started: [...situation.started, event.data.callId] };
    case "session.recovered":
      return { ...moved, settling: hasToSettle(moved), graceOver: false, cut: false };
    case "tool.unknown": {
      const running = runningCalls(moved).length > 0;
      const told = !situation.settling && machine.context.stopping !== undefined;
      return { ...moved, settling: situation.settling && running, graceOver: told && running };
    }
    case "step.interrupted":
    case "context.compaction-rejected":
      return { ...moved, settling: false };
    default:
      return moved;
  }
}

const silent: ReadonlySet<string> = new Set(["part.start-step", "part.error"]);

function hasToSettle({ machine, ...rest }: Situation): boolean {
  if (machine.matches("tools")) return runningCalls({ machine, ...rest }).length > 0;
  return (
    machine.matches({ streaming: "calling" }) ||
    machine.matches({ streaming: "backingOff" }) ||
    machine.matches("compacting")
  );
}

/** The calls whose tools run, in the order of the calls. */
export function runningCalls({ machine }: Situation): readonly string[] {
  return Object.entries(machine.context.calls).flatMap(([id, call]) =>
    call === "running" ? [id] : [],
  );
}

/** The call id that the model uses next: the same ones in every step, as some providers do. */
export function nextCallId({ machine }: Situation): string {
  return String.fromCodePoint("a".charCodeAt(0) + Object.keys(machine.context.calls).length);
}

/** The name of a call of the running step that no other call has. */
export function callKey({ machine }: Situation, callId: string): string {
  return `${machine.context.step}/${callId}`;
}

/** The id of the next message that is accepted. */
export function messageId({ accepted }: Situation): string {
  return `message-${accepted + 1}`;
}

/** The messages that are delivered where the machine is now. */
export function dueMessages({ machine }: Situation): readonly string[] {
  const { queue, stepsInTurn } = machine.context;
  return queue
    .filter(({ delivery }) => stepsInTurn === 0 || delivery === "steer")
    .map(({ id }) => id);
}
