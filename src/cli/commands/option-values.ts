/** Defines options with the type of what they give a command, and parses the values of options and arguments. */

import { InvalidArgumentError, Option } from "commander";
import type { JsonValue, PositionRange } from "../../events/index.ts";
import { UsageError } from "../output/error-report.ts";
import type { SharedOptions } from "../settings/store-folder.ts";

/** An option; `gives` has no value, only the type of the field that the command gets. */
export interface Typed<Field extends object> extends Option {
  readonly gives?: Field;
}

/** What a command with these options gets: their fields, and those of the options of every command. */
export type Given<Defs extends readonly Option[] = []> = SharedOptions & AllOf<Defs[number]>;
type AllOf<One> = (One extends Typed<infer Field> ? (field: Field) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** `maxGap` of `--max-gap <seconds>`, `open` of `--no-open` */
type NameOf<Flags> = Flags extends `${string}--${infer Long}` ? Camel<Long> : never;
type Camel<Long extends string> = Long extends `no-${infer Rest}` | `${infer Rest} ${string}`
  ? Camel<Rest>
  : Long extends `${infer Word}-${infer Rest}`
    ? `${Word}${Capitalize<Camel<Rest>>}`
    : Long;

/** Without a parser: a text; `true` where it may be left out; a boolean for a flag, which is always there. */
type Plain<Flags> = Flags extends `${string}[${string}`
  ? string | true
  : Flags extends `${string}<${string}`
    ? string
    : boolean;

type FieldOf<Flags, Value, Preset> = undefined extends (boolean extends Value ? true : Preset)
  ? { readonly [_ in NameOf<Flags>]?: Value }
  : { readonly [_ in NameOf<Flags>]: Value };

/** @param values - The parser of the value, or the words that it may be. */
export function option<
  Flags extends string,
  const Value = Plain<Flags>,
  Preset extends Value | undefined = undefined,
>(
  flags: Flags,
  description: string,
  values?: ((text: string, before?: Value) => Value) | readonly (Value & string)[],
  preset?: Preset,
): Typed<FieldOf<Flags, Value, Preset>> {
  const made = new Option(flags, description).default(preset);
  if (values === undefined) return made;
  return typeof values === "function" ? made.argParser(values) : made.choices(values);
}

/** A former name of an option, which is refused with the new one. */
export function renamed(flags: string, name: string): Option {
  return new Option(flags).hideHelp().argParser(() => {
    throw new UsageError(`${flags.split(" ")[0]} is now called ${name}.`);
  });
}

export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function someText(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

export function position(text: string): number {
  return counted(text, "Positions are counted from 1.");
}

export function positions(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, position(text)];
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
  const wait = Math.round(humanPace / (text === "human" ? 1 : positiveNumber(text)));
  if (Number.isSafeInteger(wait)) return wait;
  throw new InvalidArgumentError("It is too slow.");
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
