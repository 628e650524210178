/**
 * Laws 2 and 3 on a stored session: its snapshots equal the fold, and a state that is saved at any position,
 * loaded again and folded on stays equal to the plain fold.
 */

import { isDeepStrictEqual } from "node:util";
import { jsonSchema, type EventLog, type SessionEvent, type Snapshot } from "../../events/index.ts";
import { sessionSummary } from "../../projections/index.ts";
import {
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  storedPositions,
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

interface StoredStates {
  /** Positions of the snapshots, ascending. */
  readonly positions: readonly number[];
  /** Whether a snapshot behind the end of the log can be loaded. */
  readonly hasLate: boolean;
  readonly summary: Snapshot | undefined;
}

/**
 * Holds the content of a session once: a loaded state has only the news since the snapshot before it, and
 * shares the rest with the folded state that it was compared with.
 */
export class StateCheck {
  readonly #log: SnapshotStore;
  readonly #session: string;
  readonly #options: StateCheckOptions;
  readonly #stored: StoredStates;
  readonly #positions: ReadonlySet<number>;
  /** The last snapshot of the log that was compared. */
  #compared: KeptState = nothingKept;
  /** Snapshots of this check, in memory, and the state that is folded on from the newest of them. */
  readonly #store: SnapshotStore;
  #kept: KeptState = nothingKept;
  #resumed: SessionState = nothingKept.state;

  constructor(
    log: SnapshotStore,
    session: string,
    options: StateCheckOptions,
    stored: StoredStates,
  ) {
    this.#log = log;
    this.#session = session;
    this.#options = options;
    this.#stored = stored;
    this.#positions = new Set(stored.positions);
    this.#store = memoryStore(log);
  }

  /**
   * Compares stored and resumed states with the folded one after an event; undefined if none is due.
   * @param folded - Called only then: the fold takes the deltas between two comparisons in one.
   */
  check(event: SessionEvent, folded: () => SessionState): Promise<readonly Finding[]> | undefined {
    const { position } = event;
    const { every, last } = this.#options;
    this.#resumed = foldSession(this.#resumed, event).state;
    const isSaved = position % every === 0 || position === last;
    const isStored = this.#positions.has(position) || position === this.#stored.summary?.position;
    return isSaved || isStored ? this.#compare(folded(), isSaved) : undefined;
  }

  async #compare(folded: SessionState, isSaved: boolean): Promise<readonly Finding[]> {
    const { position } = folded;
    const { summary } = this.#stored;
    const findings: Finding[] = [];
    const report = (what: string): void => void findings.push({ position, rule: "states", what });
    for (const part of await this.#storedDifferences(folded)) {
      report(`the stored ${part} does not match the events`);
    }
    if (position === summary?.position && !isSummaryOf(summary, folded)) {
      report("the stored entry in the list of sessions does not match the events");
    }
    if (!isSaved) return findings;
    for (const part of differences(this.#resumed, folded)) {
      report(`the ${part} of a session that was stored and loaded differs from the folded one`);
    }
    if (!(await this.#saveAndLoad(folded))) report("the state cannot be stored and loaded again");
    return findings;
  }

  end(): readonly Finding[] {
    const { last } = this.#options;
    const { positions, hasLate, summary } = this.#stored;
    const stored = [hasLate ? (positions.at(-1) ?? 0) : 0, summary?.position ?? 0];
    const late = stored.filter((position) => position > last);
    return late.map((position) => ({
      position: last,
      rule: "states",
      what: `a state of position ${position} is stored, but the log ends at ${last}`,
    }));
  }

  /** Names of the parts in which the log's snapshot of this position differs. */
  async #storedDifferences(folded: SessionState): Promise<readonly string[]> {
    const { position } = folded;
    if (!this.#positions.has(position)) return [];
    const loaded = await loadSessionSnapshot(this.#log, this.#session, position, this.#compared);
    // A snapshot that cannot be loaded is not used.
    if (loaded.state.position !== position) return [];
    this.#compared = { state: folded, chunks: loaded.chunks };
    return differences(loaded.state, folded);
  }

  /** False if the snapshot does not load as the state of this position. */
  async #saveAndLoad(state: SessionState): Promise<boolean> {
    const before = this.#kept;
    this.#kept = await saveSessionSnapshot(this.#store, this.#session, state, before);
    const loaded = await loadSessionSnapshot(this.#store, this.#session, state.position, before);
    const isLoaded = loaded.state.position === state.position;
    this.#resumed = isLoaded ? loaded.state : state;
    return isLoaded;
  }
}

export async function openStateCheck(
  log: EventLog,
  session: string,
  options: StateCheckOptions,
): Promise<StateCheck> {
  const positions = await storedPositions(log, session);
  const isLate = (positions.at(-1) ?? 0) > options.last;
  const hasLate = isLate && (await loadSessionSnapshot(log, session)).state.position > options.last;
  const summary = await log.loadSnapshot(session, sessionSummary.name);
  return new StateCheck(log, session, options, { positions, hasLate, summary });
}

/** A summary of another version is not used, so any content is accepted. */
function isSummaryOf({ version, state }: Snapshot, { summary }: SessionState): boolean {
  if (version !== sessionSummary.version) return true;
  return isDeepStrictEqual(sessionSummary.schema.safeParse(state).data, summary);
}

function differences(one: SessionState, other: SessionState): readonly string[] {
  const [parts, others] = [partsOf(one), partsOf(other)];
  const differing = Object.keys(parts).filter(
    (name) => !isDeepStrictEqual(parts[name], others[name]),
  );
  // The boundaries have the items of the history, too.
  return differing.includes("history")
    ? differing.filter((name) => name !== "boundaries")
    : differing;
}

function partsOf({ machine, ...folds }: SessionState): Readonly<Record<string, unknown>> {
  return { ...folds, machine: { value: machine.value, context: machine.context } };
}

/** Stores the newest snapshot in memory as JSON, as a log would, and reads events from the log. */
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
      // Each is read once; an earlier index is replaced by the next one.
      stored.delete(projection);
      return found && { ...found.head, state: jsonSchema.parse(JSON.parse(found.json)) };
    },
  };
}
