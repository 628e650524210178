/** Verifies the log of one session against the laws. Reads only. */

import { z } from "zod";
import { check, code, implementation, optionsOf } from "../../validation/index.ts";
import {
  TurnlogError,
  type BlobStore,
  type ChainEnd,
  type EventLog,
  type ForkPoint,
  type SessionEvent,
  type TurnlogErrorCode,
  defined,
  digestIn,
  HashChain,
  jsonSchema,
  type Snapshot,
} from "../../events/index.ts";
import {
  linkOf,
  checkPosition,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  storedPositions,
  type KeptState,
  type SnapshotStore,
  type SessionState,
} from "../../state/index.ts";
import { pagesOf } from "../../shared/index.ts";
import { Inspection, JoinedFold, type Finding } from "./inspection.ts";
import { chainCheck } from "./order-checks.ts";
import type { RedactedContent } from "./prompt-check.ts";
import { isDeepStrictEqual } from "node:util";
import { sessionSummary } from "../../projections/index.ts";

export interface VerifyOptions {
  /** The blobs to check. Default: those of the log; a log without blobs skips this check. */
  readonly blobs?: BlobStore;
  /**
   * Positions between two comparisons of a saved and loaded state with the fold. 1 checks every position.
   * Default: a sixteenth of the session.
   */
  readonly every?: number;
}

interface VerifySessionOptions extends VerifyOptions {
  /**
   * The end of the hash chain, kept outside of the store: only with it can a chain be detected that was made
   * again or cut off at its end.
   */
  readonly chain?: ChainEnd;
}

interface CheckedChain extends ChainEnd {
  /** Number of events after the last link, which only their checksums cover. */
  readonly open: number;
}

export interface LogProblem extends Finding {
  readonly session: string;
}

/**
 * Result of {@link verifySession}.
 * @example
 * const { problems } = await verifySession(log, "s-1");
 */
export interface SessionVerification {
  readonly session: string;
  readonly events: number;
  /** Prompts that were rebuilt and compared by digest. */
  readonly prompts: number;
  /** Prompts that cannot be compared: content was trimmed, or no prompt can contain it. Absent for 0. */
  readonly lostPrompts?: number;
  /** Number of redacted events, and of prompts that cannot be compared because of them. */
  readonly redacted?: RedactedContent;
  /** The end of the hash chain, if the session has one. */
  readonly chain?: CheckedChain;
  /** Empty if the log keeps every law. */
  readonly problems: readonly LogProblem[];
}

const findings: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_DAMAGED",
  "EVENT_INVALID",
  "EVENT_TOO_NEW",
  "KEY_MISSING",
  "KEY_WRONG",
]);

/** Codes that stand for one session where the error names it: its rows or its key cannot be read. */
const ofSession: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_FAILED",
  "LOG_TOO_NEW",
]);

const fields = { blobs: implementation({ get: code }), every: z.unknown() };
export const verifySchema: z.ZodType = optionsOf<VerifyOptions>(fields, {});
const schema = optionsOf<VerifySessionOptions>({ ...fields, chain: implementation({}) }, {});

export async function verifySession(
  log: EventLog,
  session: string,
  options: VerifySessionOptions = {},
): Promise<SessionVerification> {
  check(schema, options, "verifySession", { name: "options", session });
  checkEvery(options);
  const inspection = new Inspection();
  const chain = new HashChain();
  const links = chainCheck(chain, options.chain);
  let isChained = options.chain !== undefined;
  const problems: LogProblem[] = [];
  const add = (found: readonly Finding[]): void => {
    for (const finding of found) problems.push({ session, ...finding });
  };
  let prompts = 0;
  const blobs = options.blobs ?? log.blobs;
  try {
    await checkPosition(log, session);
    const last = await log.revision(session);
    const every = options.every ?? Math.ceil(last / 16);
    const states = await openStateCheck(log, session, { every, last });
    const link = await linkOf(log, session);
    for await (const page of pagesOf(log.read(session, { to: last })))
      for (const event of page) {
        add(inspection.check(event));
        if (event.position === (link?.position ?? 0) + 1) add(forkFindings(event, link));
        const compared = states.check(event, () => inspection.state);
        if (compared !== undefined) add(await compared);
        if (event.type === "blob.stored" && blobs !== undefined)
          add(await blobFindings(event, blobs));
        if (event.type === "step.started") prompts += 1;
        isChained ||= digestIn(event) !== undefined;
      }
    add(inspection.end());
    add(linkFindings(last, links.end(last)));
    add(states.end());
  } catch (error) {
    add([unreadable(error, inspection.state.position + 1)]);
  }
  const { state, lostPrompts, redacted } = inspection;
  // Read again: the first link covers what is before it, and most sessions have none.
  if (isChained) {
    try {
      for await (const event of log.read(session, { to: state.position }))
        add(linkFindings(event.position, links.onEvent(event)));
    } catch (error) {
      const fault = unreadable(error, state.position + 1);
      // Mostly the one that ended the first reading.
      if (!problems.some(({ rule }) => rule === "readable")) add([fault]);
    }
  }
  const found = {
    prompts: prompts - lostPrompts,
    ...(lostPrompts === 0 ? {} : { lostPrompts }),
    ...defined({ redacted, chain: chain.end && { ...chain.end, open: chain.open } }),
  };
  return { session, events: state.position, ...found, problems };
}

function linkFindings(position: number, found: readonly string[]): readonly Finding[] {
  return found.map((what) => ({ position, rule: "chain", what }));
}

function forkFindings(event: SessionEvent, link: ForkPoint | undefined): readonly Finding[] {
  const { position, type } = event;
  const rule = "forks";
  if (link === undefined) {
    const what = "it is the first event, so there is nothing before it to fork";
    return type === "session.forked" ? [{ position, rule, what }] : [];
  }
  const from = type === "session.forked" ? event.data.from : undefined;
  if (from?.session === link.session && from.position === link.position) return [];
  const found = from === undefined ? type : `a fork of ${from.session} at ${from.position}`;
  const what = `the list of sessions says that it branches off ${link.session} at ${link.position}, but the event there is ${found}`;
  return [{ position, rule, what }];
}

async function blobFindings(
  { data, position }: SessionEvent<"blob.stored">,
  blobs: BlobStore,
): Promise<readonly Finding[]> {
  const rule = "blobs";
  try {
    let bytes = 0;
    for await (const chunk of blobs.get(data.sha256)) bytes += chunk.byteLength;
    if (bytes === data.bytes) return [];
    const what = `blob ${data.sha256} has ${bytes} bytes, but the event says ${data.bytes}`;
    return [{ position, rule, what }];
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return [{ position, rule, what: error.message }];
  }
}

/** @throws TurnlogError `INVALID_INPUT` */
export function checkEvery({ every = 1 }: VerifyOptions): void {
  if (Number.isSafeInteger(every) && every > 0) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `\`every\` must be a whole number of positions from 1 on; got ${every}.`,
  );
}

/** A fault of the log as a finding. Throws any other error again. */
export function unreadable(error: unknown, next: number): Finding {
  if (!TurnlogError.isInstance(error)) throw error;
  const { code, session } = error;
  if (!findings.has(code) && (session === undefined || !ofSession.has(code))) throw error;
  return { position: error.position ?? next, rule: "readable", what: error.message };
}

// Laws 2 and 3 on a stored session: its snapshots equal the fold, and a state that is saved at any position, loaded
// again and folded on stays equal to the plain fold.

interface StateCheckOptions {
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
class StateCheck {
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
  #resumed = new JoinedFold();

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
    this.#resumed.take(event);
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
    for (const part of differences(this.#resumed.state, folded)) {
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
    this.#resumed = new JoinedFold(isLoaded ? loaded.state : state);
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
