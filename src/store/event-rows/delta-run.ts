/**
 * A run: several deltas of one block in one row, with common fields once, the joined text, and columns of
 * lengths and times. A row each would cost ten times the text. Every delta keeps its position, boundary
 * and time. A run is appended as such, or merged later from single rows.
 */

import { z } from "zod";
import {
  eventVersions,
  isPlainDeltaData,
  type NewEvent,
  type SessionEvent,
  checksum,
  damaged,
  type FieldsReader,
  type RowKey,
} from "../../events/index.ts";
import { columnNumbers, numberColumn } from "./number-column.ts";

/** The most deltas in a row: a reader has to look this far beyond the position that it wants. */
export const LONGEST_RUN = 256;

/** The delta's text field; the other field is the id of its block. */
const textField = {
  "part.text-delta": "text",
  "part.reasoning-delta": "text",
  "part.tool-input-delta": "delta",
} as const;
type DeltaType = keyof typeof textField;

export type Delta = NewEvent<DeltaType>;

/** The content of a run. Columns leave out trailing zeros and empty values. */
interface Run {
  readonly count: number;
  readonly type: DeltaType;
  readonly version: number;
  readonly firstAt: number;
  readonly id: string;
  readonly texts: readonly string[];
  readonly gaps: readonly number[];
}

/** Begins with a number, as no single event's row does. */
const head = [
  z.int().min(2).max(LONGEST_RUN),
  z.enum(["part.text-delta", "part.reasoning-delta", "part.tool-input-delta"]),
  z.int().positive(),
  z.int(),
  z.string(),
] as const;
const mergedMark = z.literal(1).optional();
const columnSchema = z.string().transform((column, context) => {
  const numbers = columnNumbers(column);
  if (numbers !== undefined) return numbers;
  context.issues.push({ code: "custom", message: "It is no column of numbers.", input: column });
  return z.NEVER;
});
/** The texts joined, their lengths, and the gaps between their times. */
const joinedSchema = z
  .tuple([...head, z.string(), columnSchema, columnSchema, mergedMark])
  .transform(([count, type, version, firstAt, id, text, lengths, gaps], context): Run => {
    const texts = textsOf(text, lengths);
    if (texts !== undefined) return { count, type, version, firstAt, id, texts, gaps };
    context.issues.push({
      code: "custom",
      message: "The lengths are not its text's.",
      input: text,
    });
    return z.NEVER;
  });
/** The form of earlier releases: an array of texts. */
const apartSchema = z
  .tuple([...head, z.array(z.string()), z.array(z.int()), mergedMark])
  .transform(([count, type, version, firstAt, id, texts, gaps]): Run => {
    return { count, type, version, firstAt, id, texts, gaps };
  });
const runSchema: z.ZodType<Run> = z
  .union([joinedSchema, apartSchema])
  .refine(
    ({ count, texts, gaps }) => texts.length <= count && gaps.length <= count,
    "No column is longer than the run.",
  );

/** Splits a text into these lengths; undefined if they do not add up. */
function textsOf(text: string, lengths: readonly number[]): readonly string[] | undefined {
  let end = 0;
  const texts: string[] = [];
  for (const length of lengths) {
    if (length < 0) return undefined;
    texts.push(text.slice(end, end + length));
    end += length;
  }
  return end === text.length ? texts : undefined;
}

/** A delta without further fields. */
export function isPlainDelta(event: NewEvent): event is Delta {
  const { id, time, type, data } = event;
  // A log stores unchecked events too: a delta without a text gets a separate row.
  return id === undefined && Number.isSafeInteger(time) && isPlainDeltaData(type, data);
}

export function continues(run: Delta, next: Delta): boolean {
  return next.type === run.type && next.data.id === run.data.id;
}

/** At least two successive deltas, under the key of the last one. A merged row replaces rows that commits named. */
export function encodeRun(
  deltas: readonly Delta[],
  first: Delta,
  key: RowKey,
  merged = false,
): string {
  let text = "";
  const lengths: number[] = [];
  const gaps: number[] = [];
  let { time } = first;
  for (const delta of deltas) {
    const deltaText = textOf(delta);
    text += deltaText;
    lengths.push(deltaText.length);
    gaps.push(delta.time - time);
    time = delta.time;
  }
  const { type, data } = first;
  const version = eventVersions[type] ?? 1;
  const columns = [text, numberColumn(lengths), numberColumn(gaps)];
  const run = [deltas.length, type, version, first.time, data.id, ...columns];
  const json = JSON.stringify(merged ? [...run, 1] : run);
  return checksum(json, key) + json;
}

/** Whether a run is merged, without parsing it: other runs end with a quote or a bracket. */
export function isMergedRun(row: string): boolean {
  return row.endsWith('",1]') || row.endsWith("],1]");
}

export function textOf(delta: Delta): string {
  return delta.type === "part.tool-input-delta" ? delta.data.delta : delta.data.text;
}

/** @throws TurnlogError `LOG_DAMAGED`, `EVENT_TOO_NEW` */
export function decodeRun(stored: unknown, key: RowKey, eventOf: FieldsReader): SessionEvent[] {
  const run = runSchema.safeParse(stored).data;
  if (run === undefined) throw damaged(key, "it is not a run of deltas");
  const { count, type, version, id, texts } = run;
  return timesOf(run).map((time, index) => {
    const position = key.position - count + 1 + index;
    const data = { id, [textField[type]]: texts[index] ?? "" };
    return eventOf([type, version, time, data], { session: key.session, position });
  });
}

export function runTimes(stored: unknown): readonly number[] {
  const run = runSchema.safeParse(stored).data;
  return run === undefined ? [] : timesOf(run);
}

function timesOf({ count, firstAt, gaps }: Run): readonly number[] {
  let time = firstAt;
  return Array.from({ length: count }, (_, index) => (time += gaps[index] ?? 0));
}
