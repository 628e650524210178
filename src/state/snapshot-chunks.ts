/**
 * The chunks of a session's stored states. Each has the entries that the growing lists gained since the chunk
 * before, and the rest of the state at its position.
 */

import { z } from "zod";
import { jsonSchema, type EventLog, type JsonValue } from "../events/index.ts";
import type { MachineState } from "../machines/index.ts";
import type { ProjectedState } from "../projections/index.ts";
import { toJson } from "../shared/index.ts";
import {
  areNamedResults,
  withoutResults,
  withResults,
  type NamedResult,
} from "./external-results.ts";
import { storedBoundaries, storedBoundarySchema, type StoredBoundary } from "./boundaries.ts";
import { initialSessionState, type SessionState } from "./session-state.ts";

/** The version of all stored rows of a snapshot, with the machine's state. Projections have their own. */
export const SNAPSHOT_VERSION = 7;
export const SNAPSHOT_NAME = "session";
/** A schema that is used once in a process is faster without compilation. */
export const uncompiled: { readonly jitless: true } = { jitless: true };

const chunkName = (position: number): string => `${SNAPSHOT_NAME}@${position}`;
const boundariesSchema = z.array(storedBoundarySchema);

export type Lists = {
  /** Of all branches. */
  readonly items: SessionState["history"]["items"];
  readonly steps: SessionState["usage"]["steps"];
  readonly ended: SessionState["toolCalls"]["ended"];
};

/** A state as its snapshot has it, without its position. */
interface StoredState extends ProjectedState {
  readonly machine: MachineState;
  readonly boundaries: Pick<SessionState["boundaries"], "from">;
}

/** A state with empty lists, and the new entries of the lists since `after`, the position of the chunk before. */
export interface Chunk extends Lists {
  readonly after: number;
  /** The long results that the items lack. */
  readonly results: readonly NamedResult[];
  readonly boundaries: readonly unknown[];
  /** The state without its lists. */
  readonly rest: StoredState;
}

const parts = Object.keys(initialSessionState).filter((part) => part !== "position");

/**
 * Checks the frame of a chunk by hand, and not its entries: its checksum and the shape vouch for them. Checking each
 * entry would take longer than all other work of opening, and the schemas of all parts a tenth of it.
 */
function isChunk(value: unknown): value is Chunk {
  if (!isObject(value)) return false;
  const { after, items, results, steps, ended, boundaries, rest } = value;
  return (
    Number.isSafeInteger(after) &&
    [items, steps, ended, boundaries].every(Array.isArray) &&
    areNamedResults(results) &&
    isObject(rest) &&
    parts.every((part) => isObject(rest[part]))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
  const { position, boundaries, usage, toolCalls } = state;
  const { passed } = from.boundaries;
  const gained = boundaries.items.slice(from.boundaries.items.length);
  const { items, results } = withoutResults(gained);
  const chunk: { readonly [Field in keyof Chunk]: unknown } = {
    after,
    items,
    results,
    steps: usage.steps.slice(from.usage.steps.length),
    ended: toolCalls.ended.slice(from.toolCalls.ended.length),
    boundaries: storedBoundaries(boundaries.passed.slice(passed.length), passed.at(-1)),
    rest: withoutLists(state),
  };
  await log.saveSnapshot(session, {
    projection: chunkName(position),
    version: SNAPSHOT_VERSION,
    position,
    state: jsonSchema.parse(chunk),
  });
}

function withoutLists(state: SessionState): JsonValue {
  const { value, context } = state.machine;
  const { position: _, history, usage, toolCalls, boundaries, ...whole } = state;
  return toJson({
    ...whole,
    machine: { value, context },
    history: { ...history, items: [] },
    usage: { ...usage, steps: [] },
    toolCalls: { ...toolCalls, ended: [] },
    boundaries: { from: boundaries.from },
  });
}

export function listsOf({ boundaries, usage, toolCalls }: SessionState): Lists {
  return { items: boundaries.items, steps: usage.steps, ended: toolCalls.ended };
}

export interface LoadedChunk extends Lists {
  readonly boundaries: readonly StoredBoundary[];
  readonly chunk: Chunk;
}

/** The chunks from an index on, up to one that is missing, does not continue the one before, or lacks a result. */
export async function loadChunks(
  log: ChunkStore,
  session: string,
  positions: readonly number[],
  from: number,
): Promise<readonly LoadedChunk[]> {
  const wanted = positions.slice(from);
  const read = await Promise.all(wanted.map((position) => readChunk(log, session, position)));
  const isBroken = (chunk: Chunk | undefined, index: number): boolean =>
    chunk?.after !== (positions[from + index - 1] ?? 0);
  const end = read.findIndex(isBroken);
  const stored = read.slice(0, end === -1 ? read.length : end).filter((one) => one !== undefined);
  const whole = await withResults(log, session, stored);
  return stored.flatMap((chunk, index) => {
    const items = whole[index];
    const { steps, ended } = chunk;
    const boundaries = boundariesSchema.safeParse(chunk.boundaries, uncompiled);
    if (items === undefined || !boundaries.success) return [];
    return [{ items, steps, ended, boundaries: boundaries.data, chunk }];
  });
}

/** Undefined if it is missing or outdated. */
async function readChunk(
  log: ChunkStore,
  session: string,
  position: number,
): Promise<Chunk | undefined> {
  const snapshot = await log.loadSnapshot(session, chunkName(position));
  if (snapshot?.version !== SNAPSHOT_VERSION) return undefined;
  return isChunk(snapshot.state) ? snapshot.state : undefined;
}
