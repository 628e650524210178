/** A session's events with the state at every position: what all law checks start from. Pure. */

import type { EventLog, SessionEvent } from "../../src/events/index.ts";
import { foldSession, initialSessionState, type SessionState } from "../../src/state/index.ts";

export interface Replay {
  readonly events: readonly SessionEvent[];
  /** `states[n]` is the state at position n; `states[0]` that of a session without events. */
  readonly states: readonly SessionState[];
  readonly last: SessionState;
}

/** Folds from the very beginning, without any snapshot. */
export function replay(events: readonly SessionEvent[]): Replay {
  const states = [initialSessionState];
  let last = initialSessionState;
  for (const event of events) {
    last = foldSession(last, event).state;
    states.push(last);
  }
  return { events, states, last };
}

/** The state at a position that there is. */
export function stateAt({ states }: Replay, position: number): SessionState {
  const state = states[position];
  if (state === undefined) throw new Error(`The replay has no position ${position}.`);
  return state;
}

export async function storedEvents(log: EventLog, session: string): Promise<SessionEvent[]> {
  return await Array.fromAsync(log.read(session));
}

export async function replayLog(log: EventLog, session: string): Promise<Replay> {
  return replay(await storedEvents(log, session));
}
