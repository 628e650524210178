/**
 * The chunks of a session's stored states. Each has what the state gained since the chunk before, so that all
 * together are as large as the newest state, and any of them can be loaded with those before it.
 */

import { jsonSchema, type EventLog } from "../events/index.ts";
import type { MachineState } from "../machines/index.ts";
import type { BlobsState, HistoryItem, ProjectedState } from "../projections/index.ts";
import { difference, isObject, restored, type Difference } from "./difference.ts";
import {
  areNamedResults,
  withoutResults,
  withResults,
  type NamedResult,
} from "./external-results.ts";
import { storedBoundaries } from "./boundaries.ts";
import { initialSessionState, type SessionState } from "./session-state.ts";

/** The version of all stored rows of a snapshot, with the machine's state. Projections have their own. */
export const SNAPSHOT_VERSION = 8;
export const SNAPSHOT_NAME = "session";
/** A stored state, and the positions of its chunks. */
export interface KeptState {
  readonly state: SessionState;
  readonly chunks: readonly number[];
}

const chunkName = (position: number): string => `${SNAPSHOT_NAME}@${position}`;

/** A state without its position, and without what a chunk has beside its rest. */
interface StoredState extends Omit<ProjectedState, "blobs"> {
  readonly machine: MachineState;
  readonly boundaries: Pick<SessionState["boundaries"], "from">;
}

interface Chunk {
  /** The position of the chunk before. */
  readonly after: number;
  /** The new finished items of all branches. */
  readonly items: readonly HistoryItem[];
  /** The long results that the items lack. */
  readonly results: readonly NamedResult[];
  /** Each from the boundary before. */
  readonly boundaries: readonly Difference[];
  /** Whole: they are read from one chunk. */
  readonly blobs: BlobsState;
  /** From the rest of the chunk before. */
  readonly rest: Difference;
}

const parts = Object.keys(initialSessionState).filter(
  (part) => part !== "position" && part !== "blobs",
);

/**
 * Checks the frame of a chunk by hand, and not its entries: its checksum and the shape vouch for them. Checking each
 * entry would take longer than all other work of opening, and the schemas of all parts a tenth of it.
 */
function isChunk(value: unknown): value is Chunk {
  if (!isObject(value)) return false;
  const { after, items, results, boundaries, blobs, rest } = value;
  return (
    Number.isSafeInteger(after) &&
    [items, boundaries].every(Array.isArray) &&
    areNamedResults(results) &&
    isObject(blobs) &&
    isObject(rest)
  );
}

function isStoredState(value: unknown): value is StoredState {
  return isObject(value) && parts.every((part) => isObject(value[part]));
}

type ChunkStore = Pick<EventLog, "loadSnapshot" | "readAt">;

/** Stores what a state has more than an earlier one. `after`: the position of the chunk before; 0 without one. */
export async function saveChunk(
  log: Pick<EventLog, "saveSnapshot">,
  session: string,
  state: SessionState,
  from: SessionState,
  after: number,
): Promise<void> {
  const { position, boundaries, blobs } = state;
  const { passed } = from.boundaries;
  const gained = boundaries.items.slice(from.boundaries.items.length);
  const { items, results } = withoutResults(gained);
  const chunk: { readonly [Field in keyof Chunk]: unknown } = {
    after,
    items,
    results,
    boundaries: storedBoundaries(boundaries.passed.slice(passed.length), passed.at(-1)),
    blobs,
    rest: difference(restOf(state), restOf(from)),
  };
  await log.saveSnapshot(session, {
    projection: chunkName(position),
    version: SNAPSHOT_VERSION,
    position,
    state: jsonSchema.parse(chunk),
  });
}

function restOf(state: SessionState): StoredState {
  const { position: _, blobs: __, machine, history, boundaries, ...whole } = state;
  const { value, context } = machine;
  return {
    ...whole,
    machine: { value, context },
    history: { ...history, items: [] },
    boundaries: { from: boundaries.from },
  };
}

export interface LoadedChunk extends Pick<Chunk, "items" | "boundaries" | "blobs"> {
  /** The whole rest. */
  readonly rest: StoredState;
}

/** The chunks after those of `known`, up to one that is missing, does not continue the one before, or lacks a part. */
export async function loadChunks(
  log: ChunkStore,
  session: string,
  positions: readonly number[],
  known: KeptState,
): Promise<readonly LoadedChunk[]> {
  const from = known.chunks.length;
  const wanted = positions.slice(from);
  const read = await Promise.all(wanted.map((position) => readChunk(log, session, position)));
  const isBroken = (chunk: Chunk | undefined, index: number): boolean =>
    chunk?.after !== (positions[from + index - 1] ?? 0);
  const end = read.findIndex(isBroken);
  const stored = read.slice(0, end === -1 ? read.length : end).filter((one) => one !== undefined);
  const whole = await withResults(log, session, stored);
  const loaded: LoadedChunk[] = [];
  let rest: unknown = restOf(known.state);
  for (const [index, chunk] of stored.entries()) {
    const items = whole[index];
    const { boundaries, blobs } = chunk;
    rest = restored(rest, chunk.rest);
    if (items === undefined || !isStoredState(rest)) break;
    loaded.push({ items, boundaries, blobs, rest });
  }
  return loaded;
}

/** Undefined if it is missing or outdated. */
export async function readChunk(
  log: Pick<EventLog, "loadSnapshot">,
  session: string,
  position: number,
): Promise<Chunk | undefined> {
  const snapshot = await log.loadSnapshot(session, chunkName(position));
  if (snapshot?.version !== SNAPSHOT_VERSION) return undefined;
  return isChunk(snapshot.state) ? snapshot.state : undefined;
}
