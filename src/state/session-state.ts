/** The state of a session at a position: the machine's state and every projection, folded together. */

import { isEncrypted, keyMissing } from "../store/encryption/index.ts";
import { isDelta, TurnlogError, type DeltaType, type SessionEvent } from "../events/index.ts";
import {
  initialMachineState,
  machineFold,
  type Effect,
  type MachineStep,
} from "../machines/index.ts";
import { initialBoundaries, withBoundary, type BoundariesState } from "./boundaries.ts";
import { rewindTarget, rewoundBoundaries } from "./rewind-state.ts";
import {
  foldedByBranch,
  foldedByLog,
  history,
  initialProjectedState,
  queuedAgain,
  type ProjectedState,
} from "../projections/index.ts";

export interface SessionState extends ProjectedState {
  /** The position of the last folded event; 0 for a session without events. */
  readonly position: number;
  readonly machine: MachineStep["snapshot"];
  readonly boundaries: BoundariesState;
}

export const initialSessionState: SessionState = {
  position: 0,
  machine: initialMachineState,
  ...initialProjectedState,
  boundaries: initialBoundaries,
};

const none: readonly Effect[] = [];

/**
 * The state after an event, and the effects that the machine asks for. Pure: folding a log without running the
 * effects gives the state of the live session. An event that was folded before changes nothing.
 * @throws TurnlogError `LOG_DAMAGED` if a position is missing; `KEY_MISSING` if the event is encrypted
 * and was not read through `encryptedLog`; `EVENT_INVALID` if the log did not check the event, and its data
 * is of another form
 */
export function foldSession(state: SessionState, event: SessionEvent): Folded {
  try {
    return folded(state, event);
  } catch (error) {
    throw unfitting(event, error);
  }
}

/** The error for an event that a log handed over without a check. A typed error stays what it is. */
export function unfitting({ position, type }: SessionEvent, cause: unknown): TurnlogError {
  if (TurnlogError.isInstance(cause)) return cause;
  return new TurnlogError(
    "EVENT_INVALID",
    `The data of the event ${type} at position ${position} do not fit its type. A log must check the events that it stores: test it with \`eventLogContract\` of turnlog/testing.`,
    { position, cause },
  );
}

interface Folded {
  readonly state: SessionState;
  readonly effects: readonly Effect[];
}

function folded(state: SessionState, event: SessionEvent): Folded {
  if (event.position <= state.position) return { state, effects: none };
  if (event.position !== state.position + 1) {
    throw new TurnlogError(
      "LOG_DAMAGED",
      `Position ${state.position + 1} is missing: after ${state.position} comes ${event.position}. Run \`turnlog repair\`.`,
      { position: state.position + 1 },
    );
  }
  if (isEncrypted(event)) throw keyMissing(undefined, event.position);
  // Nearly all events are deltas, and only the history folds them.
  if (isDelta(event)) return { state: foldJoined(state, event), effects: none };
  if (event.type === "session.rewound") return rewound(state, event);
  const { snapshot, effects } = machineFold(state.machine, event);
  const next = {
    position: event.position,
    machine: snapshot,
    ...foldedByBranch(state, event),
    ...foldedByLog(state, event),
  };
  const boundaries = withBoundary(state.boundaries, state, next, event);
  return { state: { ...next, boundaries }, effects };
}

/**
 * The state after deltas that follow each other in one block, given as one with all their text at the position of the
 * last. It is the same as folding each, which copies the state as often.
 */
export function foldJoined(state: SessionState, joined: SessionEvent<DeltaType>): SessionState {
  const grown = history.fold(state.history, joined);
  return { ...state, position: joined.position, history: grown };
}

/** The state after a rewind. One that names no boundary changes nothing; `verify` reports it. */
function rewound(state: SessionState, event: SessionEvent<"session.rewound">): Folded {
  const target = rewindTarget(state, event);
  if (target === undefined) return { state: { ...state, position: event.position }, effects: none };
  const { snapshot, effects } = machineFold(state.machine, event);
  const folded = foldedByLog(state, event);
  const next = {
    position: event.position,
    machine: snapshot,
    ...folded,
    ...target.states,
    queue: queuedAgain(folded.queue, target.again),
  };
  const boundaries = rewoundBoundaries(state.boundaries, state, next, event);
  return { state: { ...next, boundaries }, effects };
}
