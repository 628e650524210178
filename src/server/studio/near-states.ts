/**
 * The states of sessions that the studio asked for, for a short time: a page moves through time in small steps,
 * and each step should fold only the events since the one before.
 */

import { type EventLog, TurnlogError, type SessionEvent } from "../../events/index.ts";
import {
  checkPosition,
  foldSession,
  isUnerased,
  lineRevisions,
  loadSessionSnapshot,
  nothingKept,
  type KeptState,
  type LineRevisions,
  type SessionState,
} from "../../state/index.ts";
import type { Agent } from "../../agent/index.ts";
import type { Runtime } from "../../runtime/index.ts";

/** Unused states are dropped. */
const KEPT_MS = 10_000;
const MOST_SESSIONS = 3;
const MOST_STATES = 400;
/** A state is kept at every so many events. */
const EVENTS_PER_STATE = 250;

interface Near {
  readonly revisions: LineRevisions;
  /** By position, in no order. */
  readonly states: Map<number, SessionState>;
  /** By the position of its snapshot. */
  readonly snapshots: Map<number, KeptState>;
  /** The state of the last request: the next request is often near it. */
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
      known !== undefined && (await isUnerased(log, known.revisions))
        ? known
        : { revisions: await lineRevisions(log, session), states: new Map(), snapshots: new Map() };
    keep(this.#sessions, session, near, MOST_SESSIONS);
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#sessions.clear(), KEPT_MS).unref();
    return near;
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

// Replays a stored session against the agent of the runtime.

/** What a replay found. */
interface Replayed {
  /** The number of equal events, from the first on. */
  readonly events: number;
  /** The first difference. */
  readonly difference?: {
    readonly position: number;
    readonly sentence: string;
    /** The step in which it is; absent before the first one. */
    readonly step?: number;
    readonly recorded: SessionEvent | undefined;
    readonly replayed: SessionEvent | undefined;
  };
}

/** The whole session is in memory, and its events are compared in this thread. */
const MOST_REPLAYED = 20_000;

/** @throws TurnlogError `INVALID_INPUT` for a log that is too long or was redacted, and as `Runtime.agentOf` */
export async function replayed(runtime: Runtime, session: string): Promise<Replayed> {
  const { log } = runtime;
  const only = await runtime.agentOf(session);
  const revision = await log.revision(session);
  if (revision > MOST_REPLAYED) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} has ${revision} events, but the studio replays at most ${MOST_REPLAYED}. Use turnlog replay ${session} --check --agent <module>.`,
      { session },
    );
  }
  const events = await Array.fromAsync(log.read(session, { to: revision }));
  const agents = new Map<string | undefined, Agent>([[undefined, only]]);
  for (const { type, data } of events) {
    const isAgent = type === "session.created" || type === "session.configured";
    const name = isAgent ? data.agent.name : undefined;
    if (!agents.has(name)) agents.set(name, await runtime.agentOf(session, name));
  }
  const { differenceSentence, replay } = await import("../../replay/index.ts");
  const { events: equal, difference } = await replay(
    events,
    ({ name }) => agents.get(name) ?? only,
  );
  if (difference === undefined) return { events: equal };
  const step = events.slice(0, difference.position).findLast(({ type }) => type === "step.started");
  return {
    events: equal,
    difference: {
      ...difference,
      sentence: differenceSentence(difference),
      ...(step?.type === "step.started" ? { step: step.data.step } : {}),
    },
  };
}
