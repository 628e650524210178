/**
 * Long results are not stored a second time with the state of a session: a stored history names their
 * events, and they are read from the log when it is loaded. Results are most of what a session with
 * tools holds.
 */

import { z } from "zod";
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
export const namedResultsSchema: z.ZodType<readonly NamedResult[]> = z.array(
  z.tuple([z.int().nonnegative(), z.int().nonnegative(), z.int().positive()]),
);

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

/**
 * Stored items with their results; undefined when one of these cannot be read, which whoever folds its
 * event is told, or is not that of its call.
 */
export async function withResults(
  log: Pick<EventLog, "readAt">,
  session: string,
  items: readonly HistoryItem[],
  results: readonly NamedResult[],
): Promise<readonly HistoryItem[] | undefined> {
  if (results.length === 0) return items;
  const events = await readResults(log, session, results);
  const whole = [...items];
  for (const [index, [number, at]] of results.entries()) {
    const item = whole[number];
    const event = events[index];
    if (item?.kind !== "step" || event?.type !== "tool.succeeded") return undefined;
    const part = item.parts[at];
    if (part?.kind !== "call" || part.callId !== event.data.callId) return undefined;
    if (item.step !== event.data.step) return undefined;
    const parts = item.parts.with(at, { ...part, outcome: succeeded(event) });
    whole[number] = { ...item, parts };
  }
  return whole;
}

/** The events that are named, as far as they can be read. */
async function readResults(
  log: Pick<EventLog, "readAt">,
  session: string,
  results: readonly NamedResult[],
): Promise<readonly SessionEvent[]> {
  try {
    return await log.readAt(
      session,
      results.map(([, , position]) => position),
    );
  } catch (error) {
    if (TurnlogError.isInstance(error)) return [];
    throw error;
  }
}
