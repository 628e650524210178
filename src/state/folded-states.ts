/**
 * Folds many events at once, as of an imported session, and finds the states on the way that should be
 * stored: without them each view of an early position would fold everything again.
 */

import type { SessionEvent } from "../events/index.ts";
import { saveSessionSnapshot, type KeptState, type SnapshotStore } from "./snapshot.ts";
import { foldSession, type SessionState } from "./session-state.ts";

/** Events that opening a session may have to fold: about ten milliseconds. */
export const EVENTS_PER_SNAPSHOT = 2000;

export interface FoldedStates {
  /** After the last event. */
  readonly state: SessionState;
  readonly due: readonly SessionState[];
}

/** Folds the events after a stored state. Returns the last state and those to store. */
export async function foldedStates(
  from: SessionState,
  events: Iterable<SessionEvent> | AsyncIterable<SessionEvent>,
): Promise<FoldedStates> {
  const due: SessionState[] = [];
  let state = from;
  let kept = from.position;
  for await (const event of events) {
    state = foldSession(state, event).state;
    if (!isDue(event, kept)) continue;
    due.push(state);
    kept = state.position;
  }
  return { state, due };
}

/** Whether to store the state after an event: at a step or the end of a turn, and far enough after the last stored one. */
export function isDue({ type, position }: SessionEvent, kept: number): boolean {
  const isBoundary = type === "step.started" || type === "turn.ended";
  return isBoundary && position - kept >= EVENTS_PER_SNAPSHOT;
}

export async function keepStates(
  log: SnapshotStore,
  session: string,
  due: readonly SessionState[],
  kept: KeptState,
): Promise<KeptState> {
  let last = kept;
  for (const state of due) last = await saveSessionSnapshot(log, session, state, last);
  return last;
}
