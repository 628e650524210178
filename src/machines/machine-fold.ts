/** Folds logged events into the machine's state and hands out the effects that each one asks for. */

import { createActor, initialTransition, type SnapshotFrom } from "xstate";
import type { SessionEvent } from "../events/index.ts";
import { isEffect, type Effect } from "./effect.ts";
import type { MachineState } from "./machine-state.ts";
import { sessionMachine } from "./session-machine.ts";
import { isStructural } from "./structural-events.ts";

export interface MachineStep {
  readonly snapshot: SnapshotFrom<typeof sessionMachine>;
  readonly effects: readonly Effect[];
}

const none: readonly Effect[] = [];

type Scope = Parameters<typeof sessionMachine.transition>[2];

/** What the machine wants executed in the transition under way; emptied before each. */
const wanted: { readonly type: string }[] = [];

// `transition()` of XState builds an actor for each event, at three times the cost of the transition.
// One that is never started serves them all: nothing runs in it, and nobody can send to it.
const inert = createActor(sessionMachine);
const scope: Scope = {
  self: inert,
  system: inert.system,
  id: inert.id,
  sessionId: inert.sessionId,
  logger: () => {},
  defer: () => {},
  emit: () => {},
  stopChild: () => {},
  actionExecutor: (action) => wanted.push(action),
};

/** The state of a session without events. */
export const initialMachineState: SnapshotFrom<typeof sessionMachine> =
  initialTransition(sessionMachine)[0];

/** The next state and what has to be done in it. Pure; events that do not concern it change nothing. */
export function machineFold(
  snapshot: SnapshotFrom<typeof sessionMachine>,
  event: SessionEvent,
): MachineStep {
  if (!isStructural(event)) return { snapshot, effects: none };
  wanted.length = 0;
  const next = sessionMachine.transition(snapshot, event, scope);
  return { snapshot: next, effects: wanted.length === 0 ? none : wanted.filter(isEffect) };
}

/** A live snapshot of a stored state. Re-runs nothing. */
export function resolveMachineState(state: MachineState): SnapshotFrom<typeof sessionMachine> {
  return sessionMachine.resolveState(state);
}
