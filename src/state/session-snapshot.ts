/**
 * Snapshots of a session's state, so that a long session opens quickly. A cache: a missing, damaged or
 * outdated snapshot is replaced by folding events. Most of a state is lists that only grow. They are
 * stored in chunks, so that each entry is written once; long results are stored by their position.
 */

import { z } from "zod";
import { jsonSchema, type EventLog, type JsonValue } from "../events/index.ts";
import { machineStateSchema, resolveMachineState } from "../machines/index.ts";
import {
  activeSpans,
  approvals,
  blobs,
  branches,
  calibration,
  compactions,
  contextView,
  history,
  learnedLimits,
  promptCounts,
  queue,
  sessionSummary,
  toolCalls,
  usage,
  sessionProjections,
} from "../projections/index.ts";
import { linkOf } from "./fork-link.ts";
import { toJson } from "../shared/index.ts";
import {
  areNamedResults,
  withoutResults,
  withResults,
  type NamedResult,
} from "./external-results.ts";
import { itemsOn } from "./boundaries.ts";
import {
  readBoundaries,
  storedBoundaries,
  storedBoundarySchema,
  type StoredBoundary,
} from "./stored-boundaries.ts";
import { initialSessionState, type SessionState } from "./session-state.ts";

/** A stored state, and the positions of the chunks of its lists. */
export interface KeptState {
  readonly state: SessionState;
  readonly chunks: readonly number[];
}

export type SnapshotStore = Pick<EventLog, "saveSnapshot" | "loadSnapshot" | "readAt"> &
  Partial<Pick<EventLog, "list">>;

export const nothingKept: KeptState = { state: initialSessionState, chunks: [] };

const version = 5;
/** Changes with the projections and their versions: then old snapshots do not fit. */
const shape = Object.values(sessionProjections)
  .map(({ name, version: own }) => `${name}@${own}`)
  .join(" ");

const NAME = "session";
const chunkName = (position: number): string => `${NAME}@${position}`;

const stateSchema = z.object({
  machine: machineStateSchema,
  history: history.schema,
  view: contextView.schema,
  usage: usage.schema,
  toolCalls: toolCalls.schema,
  queue: queue.schema,
  approvals: approvals.schema,
  calibration: calibration.schema,
  compactions: compactions.schema,
  learnedLimits: learnedLimits.schema,
  counts: promptCounts.schema,
  summary: sessionSummary.schema,
  blobs: blobs.schema,
  branches: branches.schema,
  boundaries: z.object({ from: z.int().nonnegative() }),
});

const boundariesSchema = z.array(storedBoundarySchema);

const indexSchema = z.object({
  shape: z.literal(shape),
  chunks: z.array(z.int().positive()),
});

type Lists = {
  /** Of all branches. */
  readonly items: SessionState["history"]["items"];
  readonly steps: SessionState["usage"]["steps"];
  readonly ended: SessionState["toolCalls"]["ended"];
};

/** A state with empty lists, and the new entries of the lists since `after`, the position of the chunk before. */
interface Chunk extends Lists {
  readonly after: number;
  /** The long results that the items lack. */
  readonly results: readonly NamedResult[];
  readonly boundaries: readonly unknown[];
  /** The state without its lists. The schema checks both together. */
  readonly rest: Readonly<Record<"history" | "usage" | "toolCalls" | "boundaries", object>>;
}

/**
 * Checks the frame of a chunk by hand, and not its entries: its checksum and the shape vouch for them, and the
 * newest chunk is parsed as a whole. Checking each entry would take longer than all other work of opening.
 */
function isChunk(value: unknown): value is Chunk {
  if (!isObject(value)) return false;
  const { after, items, results, steps, ended, boundaries, rest } = value;
  return (
    Number.isSafeInteger(after) &&
    [items, steps, ended, boundaries].every(Array.isArray) &&
    areNamedResults(results) &&
    isObject(rest) &&
    ["history", "usage", "toolCalls", "boundaries"].every((name) => isObject(rest[name]))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A schema that is used once in a process is faster without compilation. */
const uncompiled = { jitless: true };

/** Stores a state. Writes only what is new since `kept`, an earlier stored state. */
export async function saveSessionSnapshot(
  log: SnapshotStore,
  session: string,
  state: SessionState,
  kept: KeptState,
): Promise<KeptState> {
  const { position } = state;
  const { chunks } = continues(kept.state, state) ? kept : nothingKept;
  const from = chunks.length === 0 ? initialSessionState : kept.state;
  const gainedItems = state.boundaries.items.slice(from.boundaries.items.length);
  const { passed } = from.boundaries;
  const gained = state.boundaries.passed.slice(passed.length);
  const { items, results } = withoutResults(gainedItems);
  const chunk: { readonly [Field in keyof Chunk]: unknown } = {
    after: chunks.at(-1) ?? 0,
    items,
    results,
    steps: state.usage.steps.slice(from.usage.steps.length),
    ended: state.toolCalls.ended.slice(from.toolCalls.ended.length),
    boundaries: storedBoundaries(gained, passed.at(-1)),
    rest: withoutLists(state),
  };
  const next = { state, chunks: [...chunks, position] };
  // The chunk first: the index never names a missing chunk.
  await log.saveSnapshot(session, {
    projection: chunkName(position),
    version,
    position,
    state: jsonSchema.parse(chunk),
  });
  const index = { shape, chunks: next.chunks };
  await log.saveSnapshot(session, { projection: NAME, version, position, state: index });
  return next;
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

/** Whether the later state has all items and boundaries of the earlier one. The other lists only grow. */
function continues({ boundaries: earlier }: SessionState, { boundaries }: SessionState): boolean {
  return (
    earlier.items.every((item, index) => item === boundaries.items[index]) &&
    earlier.passed.every((one, index) => one === boundaries.passed[index])
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
    log.loadSnapshot(session, NAME),
  ]);
  if (link !== undefined && (snapshot?.position ?? 0) <= link.position) {
    return await storedChunks(log, link.session, Math.min(upTo, link.position));
  }
  const isCurrent = snapshot?.version === version;
  const index = isCurrent ? indexSchema.safeParse(snapshot.state, uncompiled).data : undefined;
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
 * read again.
 */
export async function loadSessionSnapshot(
  log: SnapshotStore,
  session: string,
  upTo: number = Number.POSITIVE_INFINITY,
  known: KeptState = nothingKept,
): Promise<KeptState> {
  const { session: owner, positions } = await storedChunks(log, session, upTo);
  const isKnown = known.chunks.every((position, index) => position === positions[index]);
  const before = isKnown ? known : nothingKept;
  const loaded = await loadChunks(log, owner, positions, before.chunks.length);
  const chunks = positions.slice(0, before.chunks.length + loaded.length);
  const position = chunks.at(-1);
  const newestChunk = loaded.at(-1)?.chunk;
  if (position === undefined || newestChunk === undefined) return nothingKept;
  const newest = stateSchema.safeParse(withLists(newestChunk), uncompiled);
  if (!newest.success) return nothingKept;
  const { machine, ...projections } = newest.data;
  const { history, usage, toolCalls } = projections;
  const { boundaries } = before.state;
  const { items: earlier, steps, ended } = listsOf(before.state);
  const items = [...earlier, ...loaded.flatMap((one) => one.items)];
  const passed = readBoundaries(
    boundaries.passed,
    loaded.flatMap((one) => one.boundaries),
  );
  if (passed === undefined) return nothingKept;
  return {
    state: {
      position,
      machine: resolveMachineState(machine),
      ...projections,
      history: { ...history, items: itemsOn(items, activeSpans(projections.branches)) },
      usage: { ...usage, steps: [...steps, ...loaded.flatMap((one) => one.steps)] },
      toolCalls: { ...toolCalls, ended: [...ended, ...loaded.flatMap((one) => one.ended)] },
      boundaries: { items, passed, from: projections.boundaries.from },
    },
    chunks,
  };
}

function listsOf({ boundaries, usage, toolCalls }: SessionState): Lists {
  return { items: boundaries.items, steps: usage.steps, ended: toolCalls.ended };
}

function withLists({ rest, items, steps, ended }: Chunk): object {
  return {
    ...rest,
    history: { ...rest.history, items },
    usage: { ...rest.usage, steps },
    toolCalls: { ...rest.toolCalls, ended },
  };
}

interface LoadedChunk extends Lists {
  readonly boundaries: readonly StoredBoundary[];
  readonly chunk: Chunk;
}

/** The chunks from an index on, up to one that is missing, does not continue the one before, or lacks a result. */
async function loadChunks(
  log: SnapshotStore,
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
  log: SnapshotStore,
  session: string,
  position: number,
): Promise<Chunk | undefined> {
  const snapshot = await log.loadSnapshot(session, chunkName(position));
  if (snapshot?.version !== version) return undefined;
  return isChunk(snapshot.state) ? snapshot.state : undefined;
}
