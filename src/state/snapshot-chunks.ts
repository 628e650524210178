/**
 * The chunks of a session's stored states. Each has what the state gained since the chunk before, so that all
 * together are as large as the newest state, and any of them can be loaded with those before it.
 */

import {
  jsonSchema,
  type EventLog,
  TurnlogError,
  type SessionEvent,
  isRecord,
} from "../events/index.ts";
import type { MachineState } from "../machines/index.ts";
import {
  type BlobsState,
  type HistoryItem,
  type ProjectedState,
  succeeded,
  type HistoryPart,
} from "../projections/index.ts";
import { difference, restored, type Difference } from "./difference.ts";
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

/** A state without its position, and without what a chunk has besides its rest. */
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
  if (!isRecord(value)) return false;
  const { after, items, results, boundaries, blobs, rest } = value;
  return (
    Number.isSafeInteger(after) &&
    [items, boundaries].every(Array.isArray) &&
    areNamedResults(results) &&
    isRecord(blobs) &&
    isRecord(rest)
  );
}

function isStoredState(value: unknown): value is StoredState {
  return isRecord(value) && parts.every((part) => isRecord(value[part]));
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

interface LoadedChunk extends Pick<Chunk, "items" | "boundaries" | "blobs"> {
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

// Leaves long tool results, most of the state of a session with tools, out of snapshots: a stored history names the
// positions of their events, and loading reads them from the log. Used by `snapshot.ts` alone.

/** Characters of JSON. Reading the row of a shorter result costs more than it saves. */
const LONG = 512;

/** The index of an item, the index of its part, and the position of the event with its result. */
type NamedResult = readonly [item: number, part: number, position: number];
/** Without zod: a schema of tuples takes a millisecond for 200 results. */
function areNamedResults(value: unknown): value is readonly NamedResult[] {
  return Array.isArray(value) && value.every(isNamedResult);
}

function isNamedResult(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const entries: readonly unknown[] = value;
  const [item, part, position] = entries;
  return isAtLeast(0, item) && isAtLeast(0, part) && isAtLeast(1, position);
}

function isAtLeast(least: number, value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}

/** Items without their long results, and the names of those results. */
function withoutResults(items: readonly HistoryItem[]): {
  readonly items: readonly unknown[];
  readonly results: readonly NamedResult[];
} {
  const results: NamedResult[] = [];
  const stored = items.map((item, index) => {
    if (item.kind !== "step") return item;
    const parts = item.parts.map((part, partIndex) => {
      const position = longResultOf(part);
      if (position === undefined) return part;
      results.push([index, partIndex, position]);
      return { ...part, outcome: { status: "succeeded" } };
    });
    return { ...item, parts };
  });
  return { items: stored, results };
}

/** The position of a call's result, if it is long. */
function longResultOf(part: HistoryPart): number | undefined {
  if (part.kind !== "call" || part.outcome.status !== "succeeded") return undefined;
  const { position, output, modelOutput = null } = part.outcome;
  const isLong = sizeOf(output, LONG) + sizeOf(modelOutput, LONG) > LONG;
  return isLong ? position : undefined;
}

/** The approximate length of a value's JSON; stops beyond a limit. */
function sizeOf(value: unknown, limit: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 4;
  let size = 2;
  for (const [key, inner] of Object.entries(value)) {
    if (size > limit) break;
    size += (Array.isArray(value) ? 1 : key.length + 4) + sizeOf(inner, limit - size);
  }
  return size;
}

interface StoredItems {
  readonly items: readonly HistoryItem[];
  readonly results: readonly NamedResult[];
}

/**
 * The items of several pieces of a history with their results, up to the first piece with a result that
 * cannot be read or is not that of its call. The caller folds the events after them, and throws their error.
 */
async function withResults(
  log: Pick<EventLog, "readAt">,
  session: string,
  pieces: readonly StoredItems[],
): Promise<readonly (readonly HistoryItem[])[]> {
  // Usually all can be read, and one read takes a fraction of the time.
  const all = await readResults(log, session, pieces);
  const whole: (readonly HistoryItem[])[] = [];
  for (const piece of pieces) {
    const events = all ?? (await readResults(log, session, [piece]));
    const items = events && itemsWith(piece, events);
    if (items === undefined) break;
    whole.push(items);
  }
  return whole;
}

/** Undefined if a result is missing or is not that of its call. */
function itemsWith(
  { items, results }: StoredItems,
  events: ReadonlyMap<number, SessionEvent>,
): readonly HistoryItem[] | undefined {
  const whole = [...items];
  for (const [index, partIndex, position] of results) {
    const item = whole[index];
    const event = events.get(position);
    if (item?.kind !== "step" || event?.type !== "tool.succeeded") return undefined;
    const part = item.parts[partIndex];
    if (part?.kind !== "call" || part.callId !== event.data.callId) return undefined;
    if (item.step !== event.data.step) return undefined;
    const parts = item.parts.with(partIndex, { ...part, outcome: succeeded(event) });
    whole[index] = { ...item, parts };
  }
  return whole;
}

/** The named events by position; undefined if one of them cannot be read. */
async function readResults(
  log: Pick<EventLog, "readAt">,
  session: string,
  pieces: readonly StoredItems[],
): Promise<ReadonlyMap<number, SessionEvent> | undefined> {
  const positions = pieces.flatMap(({ results }) => results.map(([, , position]) => position));
  if (positions.length === 0) return new Map();
  try {
    const events = await log.readAt(session, positions);
    return new Map(events.map((event) => [event.position, event]));
  } catch (error) {
    if (TurnlogError.isInstance(error)) return undefined;
    throw error;
  }
}
