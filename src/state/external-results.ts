/**
 * Long results are not stored a second time with the state of a session: a stored history names their
 * events, and they are read from the log when it is loaded. Results are most of what a session with
 * tools holds.
 */

import { TurnlogError, type EventLog, type SessionEvent } from "../events/index.ts";
import {
  resultPosition,
  succeeded,
  type HistoryItem,
  type HistoryPart,
} from "../projections/index.ts";

/** From how many characters of JSON on a result is named: below, reading a row costs more than it saves. */
const LONG = 512;

/** Which item, which part of it, and the position of the event with its result. */
export type NamedResult = readonly [item: number, part: number, position: number];
/** By hand: a schema of tuples takes a millisecond for the two hundred of a session. */
export function areNamedResults(value: unknown): value is readonly NamedResult[] {
  return Array.isArray(value) && value.every(isNamedResult);
}

function isNamedResult(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const places: readonly unknown[] = value;
  const [item, part, position] = places;
  return isAtLeast(0, item) && isAtLeast(0, part) && isAtLeast(1, position);
}

function isAtLeast(least: number, value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}

/** Items as they are stored, and the results that they are without. */
export function withoutResults(items: readonly HistoryItem[]): {
  readonly items: readonly unknown[];
  readonly results: readonly NamedResult[];
} {
  const results: NamedResult[] = [];
  const left = items.map((item, index) => {
    if (item.kind !== "step") return item;
    const parts = item.parts.map((part, at) => {
      const position = longResultOf(part);
      if (position === undefined) return part;
      results.push([index, at, position]);
      return { ...part, outcome: { status: "succeeded" } };
    });
    return { ...item, parts };
  });
  return { items: left, results };
}

/** Where the result of a call stands, if it is long and that is known. */
function longResultOf(part: HistoryPart): number | undefined {
  if (part.kind !== "call" || part.outcome.status !== "succeeded") return undefined;
  const { output, modelOutput = null } = part.outcome;
  const isLong = sizeOf(output, LONG) + sizeOf(modelOutput, LONG) > LONG;
  return isLong ? resultPosition(part.outcome) : undefined;
}

/** About how many characters the JSON of a value has; stops counting beyond a limit. */
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

/** Items as they are stored, and the results that they are without. */
export interface StoredItems {
  readonly items: readonly HistoryItem[];
  readonly results: readonly NamedResult[];
}

/**
 * The items of several pieces of a history with their results, up to the first piece of which a
 * result cannot be read, which whoever folds its event is told, or is not that of its call.
 */
export async function withResults(
  log: Pick<EventLog, "readAt">,
  session: string,
  pieces: readonly StoredItems[],
): Promise<readonly (readonly HistoryItem[])[]> {
  // Of most sessions all can be read, and all at once takes a fraction of the time.
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

/** Undefined where a result is not there, or not that of its call. */
function itemsWith(
  { items, results }: StoredItems,
  events: ReadonlyMap<number, SessionEvent>,
): readonly HistoryItem[] | undefined {
  const whole = [...items];
  for (const [number, at, position] of results) {
    const item = whole[number];
    const event = events.get(position);
    if (item?.kind !== "step" || event?.type !== "tool.succeeded") return undefined;
    const part = item.parts[at];
    if (part?.kind !== "call" || part.callId !== event.data.callId) return undefined;
    if (item.step !== event.data.step) return undefined;
    const parts = item.parts.with(at, { ...part, outcome: succeeded(event) });
    whole[number] = { ...item, parts };
  }
  return whole;
}

/** The events that are named, by their positions; undefined where one of them cannot be read. */
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
