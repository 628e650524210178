/** Formats figures, times and long texts for people. Pure. */

import {
  textStart,
  uploadedFile,
  uploadNames,
  type JsonValue,
  type StoredUserContent,
  type TokenUsage,
} from "../../events/index.ts";

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
  // Does not cut for a few characters.
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
