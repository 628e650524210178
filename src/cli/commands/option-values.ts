/** What is written behind an option, as the value that it means. */

import { InvalidArgumentError } from "commander";

export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function position(text: string): number {
  return counted(text, "Positions are counted from 1.");
}

export function step(text: string): number {
  return counted(text, "Steps are counted from 1.");
}

/** A number of things, at least one of them. */
export function atLeastOne(text: string): number {
  return counted(text, "It is not a whole number above 0.");
}

function counted(text: string, belowOne: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError(belowOne);
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

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new InvalidArgumentError(`It is too large: ${Number.MAX_SAFE_INTEGER} is the most.`);
  return value;
}
