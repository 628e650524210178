/** Folds logged events into the state of the session machine; effects are returned as data. Nothing runs here. */

import { createActor, initialTransition, type SnapshotFrom } from "xstate";
import type { SessionEvent, TurnEndReason } from "../events/index.ts";
import { sessionMachine } from "./session-machine.ts";
import { isStructural } from "./structural-events.ts";
import { initialContext, type SessionContext, type SessionStateValue } from "./session-context.ts";

export interface MachineStep {
  readonly snapshot: SnapshotFrom<typeof sessionMachine>;
  readonly effects: readonly Effect[];
}

const none: readonly Effect[] = [];

type Scope = Parameters<typeof sessionMachine.transition>[2];

/** The actions of the current transition; emptied before each one. */
const actions: { readonly type: string }[] = [];

// `transition()` of XState creates an actor for each event, which takes three times as long as the
// transition itself. One actor that is never started serves all of them.
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
  actionExecutor: (action) => actions.push(action),
};

/** The state of a session without events. */
export const initialMachineState: SnapshotFrom<typeof sessionMachine> =
  initialTransition(sessionMachine)[0];

/** The next state and its effects. Events that are not structural change nothing. */
export function machineFold(
  snapshot: SnapshotFrom<typeof sessionMachine>,
  event: SessionEvent,
): MachineStep {
  if (!isStructural(event)) return { snapshot, effects: none };
  actions.length = 0;
  const next = sessionMachine.transition(snapshot, event, scope);
  return { snapshot: next, effects: actions.length === 0 ? none : actions.filter(isEffect) };
}

/**
 * Whether neither a turn nor a compaction runs or is about to begin. It is called after each event, so it reads
 * the value: XState's `matches` takes it apart each time.
 */
export function isWaiting({ value }: MachineStep["snapshot"]): boolean {
  return typeof value === "object" && "idle" in value && value.idle === "waiting";
}

/** Whether the turn waits until a person allows it to spend more. Asked after each event. */
export function isHeld({ value }: Pick<MachineStep["snapshot"], "value">): boolean {
  return typeof value === "object" && "streaming" in value && value.streaming === "held";
}

/** Whether the last turn has ended and the next one has not started, though it may be due. Asked after each event. */
export function isBetweenTurns({ value }: MachineStep["snapshot"]): boolean {
  return typeof value === "object" && "idle" in value;
}

/** The live snapshot of a stored state. Runs nothing again. */
export function resolveMachineState({
  value,
  context,
}: MachineState): SnapshotFrom<typeof sessionMachine> {
  // JSON has no undefined: absent fields become undefined again.
  return sessionMachine.resolveState({ value, context: { ...initialContext, ...context } });
}

export type Effect =
  /** Begin a turn with the waiting messages: `turn.started`. */
  | { readonly type: "startTurn" }
  /** Deliver what is due and begin a step: `message.delivered`, `step.started`. */
  | { readonly type: "startStep" }
  /** Call the model: parts, then `step.finished`, `step.failed`, `step.interrupted` or `step.retrying`. */
  | { readonly type: "callModel" }
  /** Wait, then `step.started` with the next attempt. */
  | { readonly type: "backOff" }
  /** After a prompt that was too long: compact and try again, or fail the step. */
  | { readonly type: "freeContext" }
  /** Bring every call of the step to its end. May be requested again. */
  | { readonly type: "runTools" }
  /** Run the compaction: `context.compacted` or `context.compaction-rejected`. */
  | { readonly type: "compact" }
  /** Stop the model or the tools; their end is recorded as usual. */
  | { readonly type: "abort" }
  /** Record the ends that a dead process could not record. */
  | { readonly type: "settle" }
  /** `turn.ended`. */
  | { readonly type: "endTurn"; readonly params: { readonly reason: TurnEndReason } };

const types: Readonly<Record<Effect["type"], true>> = {
  startTurn: true,
  startStep: true,
  callModel: true,
  backOff: true,
  freeContext: true,
  runTools: true,
  compact: true,
  abort: true,
  settle: true,
  endTurn: true,
};

/** Distinguishes effects from XState's assignments. */
function isEffect(action: { readonly type: string }): action is Effect {
  return Object.hasOwn(types, action.type);
}

/** The machine's state as plain JSON: XState's state value and its context. */
export interface MachineState {
  readonly value: SessionStateValue;
  readonly context: SessionContext;
}
