/**
 * Leaves long tool results, most of the state of a session with tools, out of snapshots: a stored history names
 * the positions of their events, and loading reads them from the log. Used by `snapshot.ts` alone.
 */

import { TurnlogError, type EventLog, type SessionEvent } from "../events/index.ts";
import { succeeded, type HistoryItem, type HistoryPart } from "../projections/index.ts";

/** Characters of JSON. Reading the row of a shorter result costs more than it saves. */
const LONG = 512;

/** The index of an item, the index of its part, and the position of the event with its result. */
export type NamedResult = readonly [item: number, part: number, position: number];
/** Without zod: a schema of tuples takes a millisecond for 200 results. */
export function areNamedResults(value: unknown): value is readonly NamedResult[] {
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
export function withoutResults(items: readonly HistoryItem[]): {
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

export interface StoredItems {
  readonly items: readonly HistoryItem[];
  readonly results: readonly NamedResult[];
}

/**
 * The items of several pieces of a history with their results, up to the first piece with a result that
 * cannot be read or is not that of its call. The caller folds the events after them, and throws their error.
 */
export async function withResults(
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
