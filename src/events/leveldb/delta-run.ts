/**
 * Deltas of one block as one row: what they have in common once, then their texts and times in
 * columns. Nearly all of a log is deltas, and a row each costs ten times what they say. Every delta
 * keeps its position, its boundary and its time. A run was appended so, or it was sealed: made
 * later of rows that deltas had alone.
 */

import { z } from "zod";
import { eventVersions, type NewEvent, type SessionEvent } from "../catalogue.ts";
import { checksum, damaged, type FieldsReader, type RowKey } from "../codec.ts";

/** How many deltas a row may hold: so far a reader has to look beyond the position that it wants. */
export const LONGEST_RUN = 256;

/** The delta's own field beside the id of its block. */
const textField = {
  "part.text-delta": "text",
  "part.reasoning-delta": "text",
  "part.tool-input-delta": "delta",
} as const;
type DeltaType = keyof typeof textField;

export type Delta = NewEvent<DeltaType>;

/** The number comes first: no event's own row begins with one. What a column lacks at its end is empty, or 0. */
type Run = readonly [
  count: number,
  type: DeltaType,
  version: number,
  firstAt: number,
  id: string,
  texts: readonly string[],
  gaps: readonly number[],
  sealed?: 1 | undefined,
];
const runSchema: z.ZodType<Run> = z
  .tuple([
    z.int().min(2).max(LONGEST_RUN),
    z.enum(["part.text-delta", "part.reasoning-delta", "part.tool-input-delta"]),
    z.int().positive(),
    z.int(),
    z.string(),
    z.array(z.string()),
    z.array(z.int()),
    z.literal(1).optional(),
  ])
  .refine(
    ([count, , , , , texts, gaps]) => texts.length <= count && gaps.length <= count,
    "No column is longer than the run.",
  );

/** Whether an event can stand in a run: it has nothing but its text, its block and its time. */
export function isPlainDelta(event: NewEvent): event is Delta {
  if (event.id !== undefined || !Number.isSafeInteger(event.at)) return false;
  switch (event.type) {
    case "part.text-delta":
    case "part.reasoning-delta":
    case "part.tool-input-delta":
      return Object.keys(event.data).length === 2;
    default:
      return false;
  }
}

export function continues(run: Delta, next: Delta): boolean {
  return next.type === run.type && next.data.id === run.data.id;
}

/**
 * The row of at least two deltas, of which each continues the one before; `key` is the last one's.
 * Sealed: it takes the place of rows that commits have named.
 */
export function encodeRun(
  deltas: readonly Delta[],
  first: Delta,
  key: RowKey,
  sealed = false,
): string {
  const texts: string[] = [];
  const gaps: number[] = [];
  let { at } = first;
  for (const delta of deltas) {
    texts.push(textOf(delta));
    gaps.push(delta.at - at);
    at = delta.at;
  }
  const { type, data } = first;
  const version = eventVersions[type] ?? 1;
  const columns = [trimmed(texts, ""), trimmed(gaps, 0)] as const;
  const run: Run = [deltas.length, type, version, first.at, data.id, ...columns];
  const json = JSON.stringify(sealed ? [...run, 1] : run);
  return checksum(json, key) + json;
}

/** A column without what it ends with: deltas that say nothing, or came at once, cost nothing. */
function trimmed<Value>(column: readonly Value[], nothing: Value): readonly Value[] {
  return column.slice(0, column.findLastIndex((value) => value !== nothing) + 1);
}

/** Whether a run was sealed, without reading it: the gaps of another one end it. */
export function isSealedRun(row: string): boolean {
  return row.endsWith("],1]");
}

function textOf(delta: Delta): string {
  return delta.type === "part.tool-input-delta" ? delta.data.delta : delta.data.text;
}

/**
 * The deltas of a run.
 * @throws TurnlogError `LOG_DAMAGED`, `EVENT_TOO_NEW`
 */
export function decodeRun(stored: unknown, key: RowKey, eventOf: FieldsReader): SessionEvent[] {
  const run = runSchema.safeParse(stored).data;
  if (run === undefined) throw damaged(key, "it is not a run of deltas");
  const [count, type, version, , id, texts] = run;
  return timesOf(run).map((at, index) => {
    const seq = key.seq - count + 1 + index;
    const data = { id, [textField[type]]: texts[index] ?? "" };
    return eventOf([type, version, at, data], { session: key.session, seq });
  });
}

/** The times of a run's deltas; none where it is no run. */
export function runTimes(stored: unknown): readonly number[] {
  const run = runSchema.safeParse(stored).data;
  return run === undefined ? [] : timesOf(run);
}

function timesOf([count, , , first, , , gaps]: Run): readonly number[] {
  let at = first;
  return Array.from({ length: count }, (_, index) => (at += gaps[index] ?? 0));
}
