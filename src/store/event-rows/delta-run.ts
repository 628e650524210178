/**
 * A run: several deltas of one block in one row, with common fields once, the joined text, and columns of
 * lengths and times. A row each would cost ten times the text. Every delta keeps its position, boundary
 * and time. A run is appended as such, or merged later from single rows.
 */

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

/** By hand: a schema takes half as long as all else that reading a run does. */
function runOf(stored: unknown): Run | undefined {
  // Begins with a number, as no single event's row does.
  if (!isUnknownArray(stored)) return undefined;
  const [count, type, version, firstAt, id, ...columns] = stored;
  if (!isInteger(count) || count < 2 || count > LONGEST_RUN || !isDeltaType(type)) return undefined;
  if (!isInteger(version) || version < 1 || !isInteger(firstAt) || typeof id !== "string")
    return undefined;
  const found = typeof columns[0] === "string" ? joinedColumns(columns) : apartColumns(columns);
  if (found === undefined || found.texts.length > count || found.gaps.length > count)
    return undefined;
  return { count, type, version, firstAt, id, ...found };
}

type Columns = Pick<Run, "texts" | "gaps">;

/** The texts joined, their lengths, and the gaps between their times. */
function joinedColumns([text, lengths, gaps, ...rest]: readonly unknown[]): Columns | undefined {
  if (typeof text !== "string" || typeof lengths !== "string" || typeof gaps !== "string")
    return undefined;
  const [texts, times] = [textsOf(text, columnNumbers(lengths)), columnNumbers(gaps)];
  if (texts === undefined || times === undefined || !isMark(rest)) return undefined;
  return { texts, gaps: times };
}

/** The form of earlier releases: an array of texts. */
function apartColumns([texts, gaps, ...rest]: readonly unknown[]): Columns | undefined {
  if (!isUnknownArray(texts) || !texts.every((text) => typeof text === "string")) return undefined;
  if (!isUnknownArray(gaps) || !gaps.every(isInteger) || !isMark(rest)) return undefined;
  return { texts, gaps };
}

/** What may stand behind the columns: nothing, or the mark of a merged run. */
function isMark(rest: readonly unknown[]): boolean {
  return rest.length === 0 || (rest.length === 1 && rest[0] === 1);
}

function isUnknownArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isDeltaType(type: unknown): type is DeltaType {
  return typeof type === "string" && Object.hasOwn(textField, type);
}

/** Splits a text into these lengths; undefined if they do not add up. */
function textsOf(
  text: string,
  lengths: readonly number[] | undefined,
): readonly string[] | undefined {
  if (lengths === undefined) return undefined;
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
  const run = runOf(stored);
  if (run === undefined) throw damaged(key, "it is not a run of deltas");
  const { count, type, version, id, texts, gaps } = run;
  // Deltas of the present version need no look at each: the codec would answer the same.
  const isPresent = version === (eventVersions[type] ?? 1);
  const events: SessionEvent[] = [];
  let time = run.firstAt;
  for (let index = 0; index < count; index++) {
    const position = key.position - count + 1 + index;
    const text = texts[index] ?? "";
    time += gaps[index] ?? 0;
    if (!isPresent) {
      const data = { id, [textField[type]]: text };
      events.push(eventOf([type, version, time, data], { session: key.session, position }));
    } else if (type === "part.tool-input-delta")
      events.push({ position, time, type, data: { id, delta: text } });
    else events.push({ position, time, type, data: { id, text } });
  }
  return events;
}

export function runTimes(stored: unknown): readonly number[] {
  const { count = 0, firstAt = 0, gaps = [] } = runOf(stored) ?? {};
  let time = firstAt;
  return Array.from({ length: count }, (_, index) => (time += gaps[index] ?? 0));
}

// Encodes whole numbers as text, one character for a small number: lengths and gaps of deltas, the
// most frequent values in a log. It uses only characters that JSON does not escape.

const FIRST = "#".charCodeAt(0);
/** Not used, since JSON would escape it. */
const BACKSLASH = "\\".charCodeAt(0);
/** Encloses a large or negative number. */
const MARK = "~";
/** The first number without a character. */
const MANY = MARK.charCodeAt(0) - FIRST - 1;
const SMALL = Array.from({ length: MANY }, (_, number) => {
  const code = FIRST + number;
  return String.fromCharCode(code < BACKSLASH ? code : code + 1);
});
const LARGE = /^(?:0|-?[1-9]\d*)$/;

export function numberColumn(numbers: readonly number[]): string {
  let column = "";
  const end = numbers.findLastIndex((number) => number !== 0) + 1;
  for (let index = 0; index < end; index++) {
    const number = numbers[index] ?? 0;
    column += SMALL[number] ?? `${MARK}${number}${MARK}`;
  }
  return column;
}

/** The numbers of a column, without trailing zeros; undefined if it is damaged. */
export function columnNumbers(column: string): readonly number[] | undefined {
  const numbers: number[] = [];
  for (let index = 0; index < column.length; index++) {
    const code = column.charCodeAt(index);
    const number = code - FIRST - (code > BACKSLASH ? 1 : 0);
    if (number >= 0 && number < MANY && code !== BACKSLASH) {
      numbers.push(number);
      continue;
    }
    const end = column.indexOf(MARK, index + 1);
    const digits = column.slice(index + 1, end);
    const large = Number(digits);
    if (column[index] !== MARK || end === -1 || !LARGE.test(digits)) return undefined;
    if (!Number.isSafeInteger(large)) return undefined;
    numbers.push(large);
    index = end;
  }
  return numbers;
}
