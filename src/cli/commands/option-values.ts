/** Parses the values of options and arguments. */

import { InvalidArgumentError } from "commander";
import type { JsonValue, PositionRange } from "../../events/index.ts";
import { UsageError } from "../output/error-report.ts";

export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function position(text: string): number {
  return counted(text, "Positions are counted from 1.");
}

export function step(text: string): number {
  return counted(text, "Steps are counted from 1.");
}

export function atLeastOne(text: string): number {
  return counted(text, "It is not a whole number above 0.");
}

function counted(text: string, belowOne: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError(belowOne);
  return value;
}

export function positionRange(
  text: string,
  before: readonly PositionRange[] = [],
): readonly PositionRange[] {
  const [first = "", last = first, more] = text.split("-");
  const [from, to] = [position(first), position(last)];
  if (more !== undefined || from > to)
    throw new InvalidArgumentError("It is neither a position nor a range like 12-20.");
  return [...before, { from, to }];
}

export function pace(text: string): "at-once" | "recorded" | number {
  return text === "at-once" || text === "recorded" ? text : positiveNumber(text);
}

/** Milliseconds before a word: people read about as fast as a model that needs 40. */
export const humanPace = 40;

/** Milliseconds before each word that the offline model says. */
export function speakingPace(text: string): number {
  if (text === "at-once") return 0;
  return Math.round(humanPace / (text === "human" ? 1 : positiveNumber(text)));
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It is not a number above 0.");
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new InvalidArgumentError(`It is too large: the maximum is ${Number.MAX_SAFE_INTEGER}.`);
  return value;
}

const DAY = 24 * 60 * 60 * 1000;

/** Epoch milliseconds. `30d` means 30 days ago; any other text is a date. */
export function momentBefore(option: string, text: string, now: number): number {
  const [, days] = /^(\d{1,6})d$/.exec(text) ?? [];
  const time = days === undefined ? Date.parse(text) : now - Number(days) * DAY;
  if (Number.isFinite(time)) return time;
  throw new UsageError(
    `${option} takes a date, like 2026-10-01 or 2026-10-01T12:00:00Z, or a number of days, like 30d; not ${JSON.stringify(text)}.`,
  );
}

/** Metadata: `key=text`, or `key:=json` for values that are no text. */
export function metadataValue(
  text: string,
  before: Readonly<Record<string, JsonValue>> = {},
): Readonly<Record<string, JsonValue>> {
  const [, key = "", sign, value = ""] = /^([^=]+?)(:?=)(.*)$/s.exec(text) ?? [];
  if (sign === "=") return { ...before, [key]: value };
  try {
    // Parsed JSON is JSON; its schema would load zod for `--help` too.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (sign === ":=") return { ...before, [key]: JSON.parse(value) as JsonValue };
  } catch {
    // It is no JSON.
  }
  throw new InvalidArgumentError("It is neither key=text nor key:=json.");
}
