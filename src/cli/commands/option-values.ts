/** Parses the values of options and arguments. */

import { InvalidArgumentError } from "commander";
import type { PositionRange } from "../../events/index.ts";

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
