/**
 * Where a session is: the machine, with what is known of the runtime around it. Pure. Folded from
 * the events of a log, recorded by any process.
 */

import {
  entriesOf,
  repeatedId,
  type CancelMode,
  type SessionEvent,
} from "../../src/events/index.ts";
import { initialMachineState, machineFold, type MachineStep } from "../../src/machines/index.ts";

/** What the agent of a test is like. */
export interface World {
  readonly maxSteps: number;
  readonly maxAttempts: number;
  readonly toolConcurrency: number;
  /** When a turn's time is up, one more step is granted. */
  readonly lastStep: boolean;
  /** `prepareStep` changes the messages, the instructions and the settings of steps. */
  readonly prepares: boolean;
  /** The agent reads its replies as JSON. */
  readonly output: boolean;
}

interface Searches {
  readonly made: number;
  /** Those without a result, and those of them that a finished step has made. */
  readonly waiting: readonly string[];
  readonly deferred: readonly string[];
}

export interface Situation {
  readonly machine: MachineStep["snapshot"];
  /** Which tool each call of the running step is of. */
  readonly kinds: Readonly<Record<string, string>>;
  /** The calls of the running step in the order in which the process that lives now started them. */
  readonly started: readonly string[];
  /** The calls of the running step that were ever started. */
  readonly tried: readonly string[];
  /** The tools that were allowed or refused for good. */
  readonly always: Readonly<Record<string, boolean>>;
  /** What runs for the step was told to stop. */
  readonly told: boolean;
  /** A new process puts into words what the dead one did not get to say. */
  readonly settling: boolean;
  /** The tools that were told to stop have had their time. */
  readonly graceOver: boolean;
  /** The calls that the provider runs. */
  readonly searches: Searches;
  /** Messages that were accepted so far, but for edits and those that were sent for later. */
  readonly accepted: number;
  /** Messages that were sent for later. */
  readonly postponed: number;
  /** Something was delivered since the last compaction, so that another one can gain something. */
  readonly bulky: boolean;
  /** The messages of the last turn, if nothing was rewound since. */
  readonly lastTurn: readonly string[];
  /** The messages that the next turn is about, since a rewind runs them again or in place of another. */
  readonly named: readonly string[];
  /** The step's prompt was too long: what came of it. */
  readonly overflow?: "refused" | "compacting" | "compacted" | "rejected" | "recovered";
  /** The process is dead, and the log has an event that it would not have recorded. */
  readonly cut: boolean;
}

export const beginning: Situation = {
  machine: initialMachineState,
  kinds: {},
  started: [],
  tried: [],
  always: {},
  told: false,
  settling: false,
  graceOver: false,
  searches: { made: 0, waiting: [], deferred: [] },
  accepted: 0,
  postponed: 0,
  bulky: false,
  lastTurn: [],
  named: [],
  cut: false,
};

/** The situation after an event of the log. Events that mean nothing change nothing. */
export function after(situation: Situation, event: SessionEvent): Situation {
  const machine = machineFold(situation.machine, event).snapshot;
  const moved = { ...situation, machine };
  const { searches } = situation;
  switch (event.type) {
    case "message.queued":
      if (event.data.notBefore !== undefined)
        return { ...moved, postponed: situation.postponed + 1 };
      return { ...moved, accepted: situation.accepted + (isEdit(event.data.id) ? 0 : 1) };
    case "message.delivered":
      return { ...moved, bulky: true, lastTurn: [...situation.lastTurn, ...event.data.ids] };
    case "turn.started":
      return { ...moved, lastTurn: [] };
    case "session.rewound": {
      const { to, again = [], edit } = event.data;
      const named = edit === undefined ? again : [...again, edit.by];
      // Another branch may have what could be compacted.
      return { ...moved, bulky: to > 1, lastTurn: [], named };
    }
    case "context.overflowed":
      return { ...moved, overflow: "refused" };
    case "context.compaction-started":
      return situation.machine.matches({ streaming: "overflowed" })
        ? { ...moved, overflow: "compacting" }
        : moved;
    case "context.compacted":
      return { ...withOverflow(moved, "compacted"), settling: false, bulky: false };
    case "step.finished":
      return withOverflow({ ...moved, searches: { ...searches, deferred: searches.waiting } });
    case "step.failed":
      return withOverflow(withoutOpenSearches(moved));
    case "step.retrying":
      return withoutOpenSearches(moved);
    case "step.started":
      return { ...moved, kinds: {}, started: [], tried: [], told: false, graceOver: false };
    case "turn.cancel-requested":
      return { ...moved, told: situation.told || isTold(situation, event.data.mode) };
    case "turn.limit-reached":
      return { ...moved, told: situation.told || isTold(situation) };
    case "turn.ended":
      return { ...withoutSearches(moved), told: false, named: [] };
    case "part.tool-call": {
      const { toolCallId, toolName, providerExecuted } = event.data;
      const { made, waiting } = searches;
      if (providerExecuted === true)
        return {
          ...moved,
          searches: { ...searches, made: made + 1, waiting: [...waiting, toolCallId] },
        };
      return { ...moved, kinds: { ...situation.kinds, [toolCallId]: toolName } };
    }
    case "part.tool-result": {
      const left = searches.waiting.filter((id) => id !== event.data.toolCallId);
      return { ...moved, searches: { ...searches, waiting: left } };
    }
    case "tool.started":
      return {
        ...moved,
        started: [...situation.started, event.data.callId],
        tried: [...new Set([...situation.tried, event.data.callId])],
      };
    case "tool.approval-requested":
      return { ...moved, settling: situation.settling && callsToSettle(moved).length > 0 };
    case "tool.approval-answered": {
      const { callId, approved, always } = event.data;
      const kind = situation.kinds[callId];
      if (always !== true || kind === undefined) return moved;
      return { ...moved, always: { ...situation.always, [kind]: approved } };
    }
    case "session.recovered": {
      const opened = { ...moved, started: [], told: false, graceOver: false, cut: false };
      return { ...opened, settling: hasToSettle(opened) };
    }
    case "tool.unknown": {
      // Not a call that is only given up, since a dead process had started it.
      const left = situation.told && callsAtWork(situation).includes(event.data.callId);
      return {
        ...moved,
        settling: situation.settling && callsToSettle(moved).length > 0,
        graceOver: (left || situation.graceOver) && callsAtWork(moved).length > 0,
      };
    }
    case "step.interrupted":
      return { ...withOverflow(withoutOpenSearches(moved)), settling: false };
    case "context.compaction-rejected":
      return {
        ...withOverflow(moved, situation.settling ? "recovered" : "rejected"),
        settling: false,
      };
    default:
      return moved;
  }
}

/** What the provider had not answered is answered no more. */
function withoutSearches(situation: Situation): Situation {
  return { ...situation, searches: { ...situation.searches, waiting: [], deferred: [] } };
}

/** The calls of an attempt that failed are gone; those of the steps before it stay in the prompt. */
function withoutOpenSearches(situation: Situation): Situation {
  const { waiting, deferred } = situation.searches;
  const left = waiting.filter((id) => deferred.includes(id));
  return { ...situation, searches: { ...situation.searches, waiting: left } };
}

/** Only of a step whose prompt was too long. */
function withOverflow(situation: Situation, overflow?: Situation["overflow"]): Situation {
  const { overflow: before, ...rest } = situation;
  return before === undefined || overflow === undefined ? rest : { ...rest, overflow };
}

/** Whether a wish to stop tells what runs to stop at once. */
function isTold({ machine }: Situation, mode?: CancelMode): boolean {
  if (machine.matches({ streaming: "backingOff" })) return true;
  const runs = machine.matches({ streaming: "calling" }) || machine.matches("tools");
  return runs && mode !== "after-tools";
}

function hasToSettle(situation: Situation): boolean {
  const { machine } = situation;
  if (machine.matches("tools")) return callsToSettle(situation).length > 0;
  return (
    machine.matches({ streaming: "calling" }) ||
    machine.matches({ streaming: "backingOff" }) ||
    machine.matches({ streaming: "overflowed" }) ||
    machine.matches("compacting")
  );
}

/** The calls of a dead process that are not simply run again. */
export function callsToSettle(situation: Situation): readonly string[] {
  const { skipCalls } = situation.machine.context;
  return runningCalls(situation).filter((id) => skipCalls || situation.kinds[id] !== "repeatable");
}

/** The calls whose tools run in the process that lives now. */
export function callsAtWork(situation: Situation): readonly string[] {
  return runningCalls(situation).filter((id) => situation.started.includes(id));
}

/** The calls that were started and have not ended, in the order of the calls. */
export function runningCalls({ machine }: Situation): readonly string[] {
  return entriesOf(machine.context.calls).flatMap(([id, call]) => (call === "running" ? [id] : []));
}

/** The id of every call to our tools as the model gives it: the same in a reply and in every step. */
export const givenCallId = "a";

/** The id under which the next call is recorded. */
export function nextCallId({ machine }: Situation): string {
  const { length } = entriesOf(machine.context.calls);
  return length === 0 ? givenCallId : repeatedId(givenCallId, length + 1);
}

/** The id of the next call that the provider runs. */
export function nextSearchId({ searches }: Situation): string {
  return `search-${searches.made + 1}`;
}

/** The name of a call of the running step that no other call has. */
export function callKey({ machine }: Situation, callId: string): string {
  return `${machine.context.step}/${callId}`;
}

/** The id of a message that replaces another one. */
export function editId({ machine }: Situation, number: number): string {
  return `edit-${machine.context.turn}-${number}`;
}

function isEdit(id: string): boolean {
  return id.startsWith("edit-");
}

/** The id of the next message that is accepted. */
export function messageId({ accepted }: Situation): string {
  return `message-${accepted + 1}`;
}

/** The id of the next message that is sent for later. */
export function laterId({ postponed }: Situation): string {
  return `later-${postponed + 1}`;
}

/** The messages that are delivered where the machine is now. */
export function dueMessages({ machine, named, lastTurn }: Situation): readonly string[] {
  const { queue, stepsInTurn } = machine.context;
  const ids = queue
    .filter(({ delivery }) => stepsInTurn === 0 || delivery === "steer")
    .map(({ id }) => id);
  const isNamed = (id: string): boolean => named.includes(id);
  const isAboutThem = ids.some(isNamed) || lastTurn.some(isNamed);
  return stepsInTurn === 0 && isAboutThem ? ids.filter(isNamed) : ids;
}
