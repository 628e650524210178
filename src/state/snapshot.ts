/**
 * Snapshots of a session's state, so that a long session opens quickly. A cache: a missing, damaged or
 * outdated snapshot is replaced by folding events. Most of a state is lists that grow. It is stored in
 * chunks, so that each entry is written once; long results are stored by their position.
 */

import { z } from "zod";
import { commonLength, type EventLog, type SessionEvent } from "../events/index.ts";
import { resolveMachineState } from "../machines/index.ts";
import { activeSpans, blobs, sessionProjections, type BlobsState } from "../projections/index.ts";
import { linkOf } from "./branches.ts";
import { itemsOn, readBoundaries } from "./boundaries.ts";
import {
  loadChunks,
  readChunk,
  saveChunk,
  SNAPSHOT_NAME,
  SNAPSHOT_VERSION,
  type KeptState,
} from "./snapshot-chunks.ts";
import { initialSessionState, type SessionState, foldSession } from "./session-state.ts";

export type SnapshotStore = Pick<EventLog, "saveSnapshot" | "loadSnapshot" | "readAt"> &
  Partial<Pick<EventLog, "list">>;

export const nothingKept: KeptState = { state: initialSessionState, chunks: [] };

/** Changes with the projections and their versions: then old snapshots do not fit. */
const shape = Object.values(sessionProjections)
  .map(({ name, version: own }) => `${name}@${own}`)
  .join(" ");

const row = { projection: SNAPSHOT_NAME, version: SNAPSHOT_VERSION };

const indexSchema = z.lazy(() =>
  z.object({
    shape: z.literal(shape),
    chunks: z.array(z.int().positive()),
  }),
);

/** Stores a state. Writes only what is new since `kept`, an earlier stored state. */
export async function saveSessionSnapshot(
  log: SnapshotStore,
  session: string,
  state: SessionState,
  kept: KeptState,
): Promise<KeptState> {
  return await keepStates(log, session, [state], kept);
}

/** Chunks that are written together: waiting for each would take as long as making them. */
const CHUNKS_AT_ONCE = 16;

/** Stores states, oldest first. */
export async function keepStates(
  log: SnapshotStore,
  session: string,
  states: readonly SessionState[],
  kept: KeptState,
): Promise<KeptState> {
  let last = kept;
  let saving: Promise<void>[] = [];
  for (const state of states) {
    const { chunks } = continues(last.state, state) ? last : nothingKept;
    const from = chunks.length === 0 ? initialSessionState : last.state;
    saving.push(saveChunk(log, session, state, from, chunks.at(-1) ?? 0));
    last = { state, chunks: [...chunks, state.position] };
    if (saving.length < CHUNKS_AT_ONCE) continue;
    await Promise.all(saving);
    saving = [];
  }
  // The chunks first: the index never names a missing chunk.
  await Promise.all(saving);
  const { position } = last.state;
  if (last !== kept)
    await log.saveSnapshot(session, { ...row, position, state: { shape, chunks: last.chunks } });
  return last;
}

/** Whether the later state has all items and boundaries of the earlier one. The other lists only grow. */
function continues({ boundaries: earlier }: SessionState, { boundaries }: SessionState): boolean {
  return (
    commonLength(earlier.items, boundaries.items) === earlier.items.length &&
    commonLength(earlier.passed, boundaries.passed) === earlier.passed.length
  );
}

interface StoredChunks {
  readonly session: string;
  readonly positions: readonly number[];
}

/** A fork without a snapshot of its own uses those of the session that it branched off. */
async function storedChunks(
  log: SnapshotStore,
  session: string,
  upTo: number,
): Promise<StoredChunks> {
  const [link, snapshot] = await Promise.all([
    log.list && linkOf({ list: log.list.bind(log) }, session),
    log.loadSnapshot(session, SNAPSHOT_NAME),
  ]);
  if (link !== undefined && (snapshot?.position ?? 0) <= link.position) {
    return await storedChunks(log, link.session, Math.min(upTo, link.position));
  }
  // A schema that is used once in a process is faster without compilation.
  const isCurrent = snapshot?.version === SNAPSHOT_VERSION;
  const index = isCurrent
    ? indexSchema.safeParse(snapshot.state, { jitless: true }).data
    : undefined;
  const positions = index?.chunks.filter((position) => position <= upTo) ?? [];
  return { session, positions };
}

/** The positions of the stored states, ascending. A state may still be missing or damaged. */
export async function storedPositions(
  log: SnapshotStore,
  session: string,
): Promise<readonly number[]> {
  return (await storedChunks(log, session, Number.POSITIVE_INFINITY)).positions;
}

/**
 * The newest stored state up to a position, or {@link nothingKept}. A fork without a snapshot of its own
 * uses one of the session that it branched off. `known`: an earlier stored state, whose chunks are not
 * read again; it is the answer if no newer one is stored.
 */
export async function loadSessionSnapshot(
  log: SnapshotStore,
  session: string,
  upTo = Number.POSITIVE_INFINITY,
  known: KeptState = nothingKept,
): Promise<KeptState> {
  const { session: owner, positions } = await storedChunks(log, session, upTo);
  const isKnown = known.chunks.every((position, index) => position === positions[index]);
  const before = isKnown ? known : nothingKept;
  const loaded = await loadChunks(log, owner, positions, before);
  const chunks = positions.slice(0, before.chunks.length + loaded.length);
  const position = chunks.at(-1);
  const newest = loaded.at(-1);
  if (position === undefined || newest === undefined) return before;
  const { machine, boundaries, history, ...projections } = newest.rest;
  const { blobs } = newest;
  const earlier = before.state.boundaries;
  const items = [...earlier.items, ...loaded.flatMap((one) => one.items)];
  const passed = readBoundaries(
    earlier.passed,
    loaded.flatMap((one) => one.boundaries),
  );
  if (passed === undefined) return nothingKept;
  return {
    state: {
      position,
      machine: resolveMachineState(machine),
      ...projections,
      blobs,
      history: { ...history, items: itemsOn(items, activeSpans(projections.branches)) },
      boundaries: { items, passed, from: boundaries.from },
    },
    chunks,
  };
}

/** Reads the blobs of the newest stored state up to a position, from one chunk. Without a state, `position` is 0. */
export async function storedBlobs(
  log: SnapshotStore,
  session: string,
  upTo: number,
): Promise<{ readonly position: number; readonly blobs: BlobsState }> {
  const { session: owner, positions } = await storedChunks(log, session, upTo);
  const position = positions.at(-1);
  const chunk = position === undefined ? undefined : await readChunk(log, owner, position);
  return position === undefined || chunk === undefined
    ? { position: 0, blobs: blobs.initial }
    : { position, blobs: chunk.blobs };
}

// Folds many events at once, as of an imported session, and finds the states on the way that should be
// stored: without them each view of an early position would fold everything again.

/** Events that opening a session may have to fold: about ten milliseconds. */
export const EVENTS_PER_SNAPSHOT = 2000;

interface FoldedStates {
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
