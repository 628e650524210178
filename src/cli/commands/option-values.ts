/** What is written behind an option, as the value that it means. */

import { InvalidArgumentError } from "commander";

export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function position(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError("Positions are counted from 1.");
  return value;
}

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(text: string, before: readonly Stretch[] = []): readonly Stretch[] {
  const [first = "", last = first, more] = text.split("-");
  const [from, to] = [position(first), position(last)];
  if (more !== undefined || from > to)
    throw new InvalidArgumentError("It is neither a position nor a stretch as 12-20.");
  return [...before, { from, to }];
}

export function pace(text: string): "at-once" | "recorded" | number {
  return text === "at-once" || text === "recorded" ? text : positiveNumber(text);
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It is not a number above 0.");
}

export function count(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError("It is not a whole number above 0.");
  return value;
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  return Number(text);
}
