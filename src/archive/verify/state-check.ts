/**
 * Laws 2 and 3 on a stored session: its snapshots equal the fold of its events, and a state that is
 * saved at any position, loaded again and folded on stays equal to the plain fold.
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
  /** Interval in positions at which the state is saved, loaded and compared. */
  readonly every: number;
  readonly last: number;
}

export class StateCheck {
  readonly #session: string;
  readonly #options: StateCheckOptions;
  /** The snapshots that the log had before. */
  readonly #stored: SessionState;
  readonly #summary: Snapshot | undefined;
  /** Snapshots of this check, in memory, and the state that is folded on from the newest of them. */
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

  /** Compares stored and resumed states with the folded one after an event. */
  async check(event: SessionEvent, folded: SessionState): Promise<readonly Finding[]> {
    const { position } = event;
    const { every, last } = this.#options;
    this.#resumed = foldSession(this.#resumed, event).state;
    const findings: Finding[] = [];
    const report = (what: string): void => void findings.push({ position, rule: "states", what });
    if (position === this.#stored.position) {
      for (const part of differences(this.#stored, folded)) {
        report(`the stored ${part} is not what the events say`);
      }
    }
    if (position === this.#summary?.position && !isSummaryOf(this.#summary, folded)) {
      report("the stored entry of the list of sessions is not what the events say");
    }
    if (position % every !== 0 && position !== last) return findings;
    for (const part of differences(this.#resumed, folded)) {
      report(`the ${part} of a session that was kept and loaded is not the folded one`);
    }
    if (!(await this.#saveAndLoad(folded))) report("the state cannot be kept and loaded again");
    return findings;
  }

  /** Findings for snapshots of positions after the end of the log. */
  end(): readonly Finding[] {
    const { last } = this.#options;
    const stored = [this.#stored.position, this.#summary?.position ?? 0];
    const late = stored.filter((position) => position > last);
    return late.map((position) => ({
      position: last,
      rule: "states",
      what: `a state of position ${position} is stored, and the log ends at ${last}`,
    }));
  }

  /** False if the snapshot does not load as the state of this position. */
  async #saveAndLoad(state: SessionState): Promise<boolean> {
    this.#kept = await saveSessionSnapshot(this.#store, this.#session, state, this.#kept);
    const loaded = await loadSessionSnapshot(this.#store, this.#session);
    const isLoaded = loaded.state.position === state.position;
    this.#resumed = isLoaded ? loaded.state : state;
    return isLoaded;
  }
}

/** Loads the stored snapshots of a session. */
export async function openStateCheck(
  log: EventLog,
  session: string,
  options: StateCheckOptions,
): Promise<StateCheck> {
  const stored = await loadSessionSnapshot(log, session);
  const summary = await log.loadSnapshot(session, sessionSummary.name);
  return new StateCheck(log, session, options, stored.state, summary);
}

/** A summary of another version is not used, so any content is accepted. */
function isSummaryOf({ version, state }: Snapshot, { summary }: SessionState): boolean {
  if (version !== sessionSummary.version) return true;
  return isDeepStrictEqual(sessionSummary.schema.safeParse(state).data, summary);
}

/** Names of the parts in which two states differ. */
function differences(one: SessionState, other: SessionState): readonly string[] {
  const [parts, others] = [partsOf(one), partsOf(other)];
  return Object.keys(parts).filter((name) => !isDeepStrictEqual(parts[name], others[name]));
}

function partsOf({ machine, ...folds }: SessionState): Readonly<Record<string, unknown>> {
  return { ...folds, machine: { value: machine.value, context: machine.context } };
}

/** Stores snapshots in memory as JSON, as a log would, and reads events from the log. */
function memoryStore(log: Pick<EventLog, "readAt">): SnapshotStore {
  const stored = new Map<
    string,
    { readonly head: Omit<Snapshot, "state">; readonly json: string }
  >();
  return {
    readAt: (...read) => log.readAt(...read),
    async saveSnapshot(_session, { state, ...head }) {
      stored.set(head.projection, { head, json: JSON.stringify(state) });
    },
    async loadSnapshot(_session, projection) {
      const found = stored.get(projection);
      return found && { ...found.head, state: jsonSchema.parse(JSON.parse(found.json)) };
    },
  };
}
