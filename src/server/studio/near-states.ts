/**
 * The states of sessions that the studio asked for, for a short time: a page moves through time in small steps,
 * and each step should fold only the events since the one before.
 */

import { TurnlogError, type EventLog, type SessionEvent } from "../../events/index.ts";
import {
  checkPosition,
  foldSession,
  linkOf,
  loadSessionSnapshot,
  nothingKept,
  type KeptState,
  type SessionState,
} from "../../state/index.ts";

/** Unused states are dropped. */
const KEPT_MS = 10_000;
const MOST_SESSIONS = 3;
const MOST_STATES = 400;
/** A state is kept at every so many events. */
const EVENTS_PER_STATE = 250;

/** A state before one of these may hold content that is gone. */
const erasing: ReadonlySet<SessionEvent["type"]> = new Set(["session.redacted", "session.thinned"]);

interface Near {
  /** The last known revisions of the session and of those that it branches off: it has events of theirs. */
  readonly revisions: Map<string, number>;
  /** By position, in no order. */
  readonly states: Map<number, SessionState>;
  /** By the position of its snapshot. */
  readonly snapshots: Map<number, KeptState>;
  /** Of the last question: the next one is often near. */
  last?: SessionState;
}

export class NearStates {
  readonly #sessions = new Map<string, Near>();
  #ending: ReturnType<typeof setTimeout> | undefined;

  /**
   * The state at a position.
   * @throws TurnlogError as `checkPosition`
   */
  async at(log: EventLog, session: string, position: number): Promise<SessionState> {
    await checkPosition(log, session, position);
    const near = await this.#near(log, session);
    let state = await this.#from(log, session, near, position);
    for await (const event of log.read(session, { from: state.position + 1, to: position })) {
      state = foldSession(state, event).state;
      if (state.position % EVENTS_PER_STATE === 0) keep(near.states, state.position, state);
    }
    near.last = state;
    return state;
  }

  /** The nearest state before a position: a kept one, or a stored snapshot if that is nearer. */
  async #from(
    log: EventLog,
    session: string,
    { states, snapshots, last }: Near,
    position: number,
  ): Promise<SessionState> {
    const found = nearest(states, position);
    const isLast = last !== undefined && last.position <= position;
    const kept = isLast && last.position >= (found?.position ?? 0) ? last : found;
    if (kept !== undefined && position - kept.position <= 2 * EVENTS_PER_STATE) return kept;
    const known = nearest(snapshots, position) ?? nothingKept;
    const snapshot = await loadSessionSnapshot(log, session, position, known);
    keep(snapshots, snapshot.state.position, snapshot);
    return kept !== undefined && kept.position > snapshot.state.position ? kept : snapshot.state;
  }

  async #near(log: EventLog, session: string): Promise<Near> {
    const known = this.#sessions.get(session);
    const near =
      known !== undefined && (await isCurrent(log, known))
        ? known
        : { revisions: await lineage(log, session), states: new Map(), snapshots: new Map() };
    keep(this.#sessions, session, near, MOST_SESSIONS);
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#sessions.clear(), KEPT_MS).unref();
    return near;
  }
}

async function lineage(log: EventLog, session: string): Promise<Map<string, number>> {
  const revisions = new Map<string, number>();
  for (let id: string | undefined = session; id !== undefined && !revisions.has(id);) {
    revisions.set(id, await log.revision(id));
    id = (await linkOf(log, id))?.session;
  }
  return revisions;
}

/** Whether nothing was erased since: reads the events that are new in the session and its origins. */
async function isCurrent(log: EventLog, { revisions }: Near): Promise<boolean> {
  try {
    for (const [id, before] of revisions) {
      const revision = await log.revision(id);
      if (revision < before) return false;
      if (revision === before) continue;
      for await (const { type } of log.read(id, { from: before + 1, to: revision }))
        if (erasing.has(type)) return false;
      revisions.set(id, revision);
    }
    return true;
  } catch (error) {
    // It is folded anew, which tells what cannot be read.
    if (TurnlogError.isInstance(error)) return false;
    throw error;
  }
}

function nearest<Value>(kept: ReadonlyMap<number, Value>, position: number): Value | undefined {
  const at = [...kept.keys()].filter((one) => one <= position);
  return at.length === 0 ? undefined : kept.get(Math.max(...at));
}

function keep<Key, Value>(kept: Map<Key, Value>, key: Key, value: Value, most = MOST_STATES): void {
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
