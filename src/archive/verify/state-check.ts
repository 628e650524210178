/**
 * Laws 2 and 3 on a stored session: what is kept beside its log is what its events say, and a state
 * that is kept at any position and loaded again goes on as the plain fold does.
 */

import { isDeepStrictEqual } from "node:util";
import { jsonSchema, type EventLog, type SessionEvent, type Snapshot } from "../../events/index.ts";
import { sessionSummary } from "../../projections/index.ts";
import {
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  type KeptState,
  type SnapshotStore,
  foldSession,
  type SessionState,
} from "../../state/index.ts";
import type { Finding } from "./inspection.ts";

export interface StateCheckOptions {
  /** At each multiple of it the state is kept, loaded and compared. */
  readonly every: number;
  readonly last: number;
}

export class StateCheck {
  readonly #session: string;
  readonly #options: StateCheckOptions;
  /** What is stored beside the log. */
  readonly #stored: SessionState;
  readonly #summary: Snapshot | undefined;
  /** What this check keeps, and the state that goes on from what it has loaded. */
  readonly #store: SnapshotStore;
  #kept: KeptState = nothingKept;
  #resumed: SessionState = nothingKept.state;

  constructor(
    log: Pick<EventLog, "readAt">,
    session: string,
    options: StateCheckOptions,
    stored: SessionState,
    summary: Snapshot | undefined,
  ) {
    this.#store = memoryStore(log);
    this.#session = session;
    this.#options = options;
    this.#stored = stored;
    this.#summary = summary;
  }

  /** Compares the states after an event, where that is due. */
  async see(event: SessionEvent, folded: SessionState): Promise<readonly Finding[]> {
    const { position } = event;
    const { every, last } = this.#options;
    this.#resumed = foldSession(this.#resumed, event).state;
    const findings: Finding[] = [];
    const say = (what: string): void => void findings.push({ position, rule: "states", what });
    if (position === this.#stored.position) {
      for (const part of differences(this.#stored, folded)) {
        say(`the stored ${part} is not what the events say`);
      }
    }
    if (position === this.#summary?.position && !isSummaryOf(this.#summary, folded)) {
      say("the stored entry of the list of sessions is not what the events say");
    }
    if (position % every !== 0 && position !== last) return findings;
    for (const part of differences(this.#resumed, folded)) {
      say(`the ${part} of a session that was kept and loaded is not the folded one`);
    }
    if (!(await this.#keep(folded))) say("the state cannot be kept and loaded again");
    return findings;
  }

  /** What is stored of positions that there are not. */
  end(): readonly Finding[] {
    const { last } = this.#options;
    const beyond = [this.#stored.position, this.#summary?.position ?? 0].filter((at) => at > last);
    return beyond.map((position) => ({
      position: last,
      rule: "states",
      what: `a state of position ${position} is stored, and the log ends at ${last}`,
    }));
  }

  /** False where what was kept is not taken for the state of this position. */
  async #keep(state: SessionState): Promise<boolean> {
    this.#kept = await saveSessionSnapshot(this.#store, this.#session, state, this.#kept);
    const loaded = await loadSessionSnapshot(this.#store, this.#session);
    const isTaken = loaded.state.position === state.position;
    this.#resumed = isTaken ? loaded.state : state;
    return isTaken;
  }
}

/** Loads what is stored beside a session's log. */
export async function openStateCheck(
  log: EventLog,
  session: string,
  options: StateCheckOptions,
): Promise<StateCheck> {
  const stored = await loadSessionSnapshot(log, session);
  const summary = await log.loadSnapshot(session, sessionSummary.name);
  return new StateCheck(log, session, options, stored.state, summary);
}

/** One of another version is not used, so it need not be right. */
function isSummaryOf({ version, state }: Snapshot, { summary }: SessionState): boolean {
  if (version !== sessionSummary.version) return true;
  return isDeepStrictEqual(sessionSummary.schema.safeParse(state).data, summary);
}

/** The parts of two states that are not the same, by name. */
function differences(one: SessionState, other: SessionState): readonly string[] {
  const [parts, others] = [partsOf(one), partsOf(other)];
  return Object.keys(parts).filter((name) => !isDeepStrictEqual(parts[name], others[name]));
}

function partsOf({ machine, ...folds }: SessionState): Readonly<Record<string, unknown>> {
  return { ...folds, machine: { value: machine.value, context: machine.context } };
}

/** Keeps snapshots as the JSON that a log would store, beside the log whose events they name. */
function memoryStore(log: Pick<EventLog, "readAt">): SnapshotStore {
  const shelf = new Map<
    string,
    { readonly head: Omit<Snapshot, "state">; readonly json: string }
  >();
  return {
    readAt: (...read) => log.readAt(...read),
    async saveSnapshot(_session, { state, ...head }) {
      shelf.set(head.projection, { head, json: JSON.stringify(state) });
    },
    async loadSnapshot(_session, projection) {
      const kept = shelf.get(projection);
      return kept && { ...kept.head, state: jsonSchema.parse(JSON.parse(kept.json)) };
    },
  };
}
