/** Formats figures, times and long texts for people. Pure. */

import {
  textStart,
  uploadedFile,
  uploadNames,
  type JsonValue,
  type StoredUserContent,
  type TokenUsage,
  jsonObjectSchema,
  type JsonObject,
} from "../../events/index.ts";
import { visibleName } from "../output/visible-text.ts";

interface StoredFile {
  readonly filename?: string;
  readonly mediaType: string;
  readonly data: unknown;
}

/** `1 file`, `1,200 files`. */
export function amount(count: number, thing: string): string {
  return `${figure(count)} ${thing}${count === 1 ? "" : "s"}`;
}

export function figure(count: number): string {
  return count.toLocaleString("en-US");
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

/** Milliseconds as `250 ms`, `1.2 s` or `2 min 5 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** Local date and time to the minute. */
export function dateAndTime(time: number): string {
  const date = new Date(time);
  const [month, day] = [date.getMonth() + 1, date.getDate()].map(twoDigits);
  return `${date.getFullYear()}-${month}-${day} ${timeOfDay(time).slice(0, 5)}`;
}

/** Local time to the millisecond. */
export function timeOfDay(time: number): string {
  const date = new Date(time);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits);
  return `${parts.join(":")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** Tokens of a call, a turn or a session; `~` marks estimates. */
export function tokens(usage: TokenUsage): string {
  const about = usage.basis === "estimated" ? "~" : "";
  const part = (count: number | undefined, of: string): string =>
    count === undefined || count === 0 ? "" : ` (${figure(count)} ${of})`;
  const input = `${about}${figure(usage.inputTokens)} in${part(usage.cacheReadTokens, "cached")}`;
  const output = `${about}${figure(usage.outputTokens)} out${part(usage.reasoningTokens, "reasoning")}`;
  return `${input}, ${output}`;
}

export function excerpt(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line.length <= length) return line;
  return `${textStart(line, Math.max(0, length - 1))}…`;
}

/** The text, or its beginning and the size of the whole. Keeps line ends. */
export function shortened(text: string, length: number): string {
  // Does not cut a text that is only a few characters too long.
  if (text.length <= length * 1.2) return text;
  return `${textStart(text, length)}… [${figure(text.length)} characters in all]`;
}

/** JSON on one line, cut like {@link shortened}. */
export function shortenedJson(value: unknown, length: number): string {
  return shortened(typeof value === "string" ? value : (JSON.stringify(value) ?? "null"), length);
}

/** JSON on one line, cut at a length; a string without quotes. */
export function jsonExcerpt(value: JsonValue | undefined, length: number): string {
  return excerpt(typeof value === "string" ? value : JSON.stringify(value ?? null), length);
}

/** The text of a user's message, with files by their names. */
export function contentText(content: StoredUserContent): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (part.type === "file") return `[${fileText(part)}]`;
      return part.filename === undefined ? part.text : `[${part.filename}]`;
    })
    .join("\n");
}

export function fileText(part: StoredFile): string {
  const name = part.filename ?? part.mediaType;
  const elsewhere = uploadedFile(part);
  return elsewhere === undefined ? name : `${name}, ${uploadNames(elsewhere.reference)}`;
}

/** The lines that apply: those that are false or undefined are left out. */
export function linesOf(
  ...given: readonly (string | readonly string[] | false | undefined)[]
): readonly string[] {
  return given.flatMap((one) => (one === false || one === undefined ? [] : one));
}

/** The rows of a table in columns of equal width, without their styles. */
export function tableRows(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean,
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, column) =>
        isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}

export function indented(text: string): readonly string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `  ${line}`.trimEnd());
}

/** How many characters of long values to show. */
export interface Lengths {
  /** Of a message or reply. */
  readonly text: number;
  /** Of the input or output of a tool. */
  readonly value: number;
}

export const usualLengths: Lengths = { text: 4000, value: 400 };
export const fullLengths: Lengths = {
  text: Number.POSITIVE_INFINITY,
  value: Number.POSITIVE_INFINITY,
};

// Short texts for tool calls: the input by its fields, the output by its size. Pure.

/** `search_files query="zod" pattern="*.ts"` */
export function callLabel(toolName: string, input: JsonValue, length: number): string {
  const fields = fieldsOf(input);
  const words =
    fields === undefined
      ? JSON.stringify(input)
      : Object.entries(fields)
          .map(([name, value]) => `${name}=${excerpt(JSON.stringify(value), 60)}`)
          .join(" ");
  return `${visibleName(toolName)} ${excerpt(words, length)}`.trimEnd();
}

/** An output by its fields: `12 matches`, `text 3,201 characters`. */
export function outcomeLabel(output: JsonValue, input: JsonValue): string {
  const fields = fieldsOf(output);
  if (fields === undefined)
    return Array.isArray(output) ? amount(output.length, "item") : scalar(output);
  const given = fieldsOf(input) ?? {};
  const words = Object.entries(fields).flatMap(([name, value]) =>
    // Leaves out fields that repeat the input.
    value === given[name] || name === "path" ? [] : [fieldLabel(name, value)],
  );
  return excerpt(words.length === 0 ? "done" : words.join(", "), 100);
}

function fieldLabel(name: string, value: JsonValue): string {
  if (Array.isArray(value))
    return `${figure(value.length)} ${value.length === 1 ? singular(name) : name}`;
  if (typeof value === "string") return `${name} ${scalar(value)}`;
  return typeof value === "object" && value !== null ? name : `${name} ${scalar(value)}`;
}

function singular(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.replace(/(?<=ch|sh|x)es$|(?<!s)s$/, "");
}

function scalar(value: JsonValue): string {
  if (typeof value === "string")
    return value.length > 60 ? amount(value.length, "character") : excerpt(value, 60);
  return typeof value === "number" ? figure(value) : JSON.stringify(value);
}

function fieldsOf(value: JsonValue): JsonObject | undefined {
  const parsed = jsonObjectSchema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** The beginning of a sentence. */
export function sentenceCase(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
