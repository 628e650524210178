/**
 * A session that is folded over many events at once, as one that was imported: the states on the way
 * that are to be stored, lest each look at an early position folds everything again.
 */

import type { SessionEvent } from "../events/index.ts";
import {
  nothingKept,
  saveSessionSnapshot,
  type KeptState,
  type SnapshotStore,
} from "./session-snapshot.ts";
import { foldSession, type SessionState } from "./session-state.ts";

/** How many events opening a session may have to fold: about ten milliseconds' worth. */
export const EVENTS_PER_SNAPSHOT = 2000;

export interface FoldedStates {
  /** After the last event. */
  readonly state: SessionState;
  /** Those to be stored, oldest first. */
  readonly due: readonly SessionState[];
}

/** The state after events that follow a stored one, and those on the way that are due. */
export async function foldedStates(
  from: SessionState,
  events: Iterable<SessionEvent> | AsyncIterable<SessionEvent>,
): Promise<FoldedStates> {
  const due: SessionState[] = [];
  let state = from;
  let kept = from.position;
  for await (const event of events) {
    state = foldSession(state, event).state;
    if (!isDue(event, state, kept)) continue;
    due.push(state);
    kept = state.position;
  }
  return { state, due };
}

/** Folds a whole session that is new in the log, and stores each state that is due when it comes to it. */
export async function keepFolded(
  log: SnapshotStore,
  session: string,
  events: AsyncIterable<SessionEvent>,
): Promise<void> {
  let state = nothingKept.state;
  let kept = nothingKept;
  for await (const event of events) {
    state = foldSession(state, event).state;
    if (isDue(event, state, kept.state.position))
      kept = await saveSessionSnapshot(log, session, state, kept);
  }
}

/** Whether a state is to be stored: at a place where looking back begins, far enough behind the one before. */
function isDue({ type }: SessionEvent, { position }: SessionState, kept: number): boolean {
  const isPlace = type === "step.started" || type === "turn.ended";
  return isPlace && position - kept >= EVENTS_PER_SNAPSHOT;
}

/** Stores them one after the other; answers what is kept then. */
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
