/** Schemas of single options. Messages follow "must be". Values may be instances of any class. */

import { z } from "zod";
import { byId } from "../events/index.ts";

export function thing<Value = unknown>(
  words: string,
  fits: (value: unknown) => boolean,
): z.ZodType<Value> {
  return z.custom<Value>(fits, words);
}

function isNumber(value: unknown, fits: (number: number) => boolean): boolean {
  return typeof value === "number" && fits(value);
}

export const text: z.ZodType<string> = z.string("a text");
const notEmpty = "a text that is not empty";
export const name: z.ZodType<string> = z.string(notEmpty).min(1, notEmpty);
/** The most characters of an id or the name of a person: each is stored, and copied into every list. */
const LONGEST_NAME = 512;
const short = `a text of 1 to ${LONGEST_NAME} characters`;
export const shortName: z.ZodType<string> = z.string(short).min(1, short).max(LONGEST_NAME, short);
export const flag: z.ZodType<boolean> = z.boolean("true or false");
export const list: z.ZodType = thing("a list", Array.isArray);
export const code: z.ZodType = thing("a function", (value) => typeof value === "function");
/** A count that may not be 0. */
export const several: z.ZodType<number> = thing("a whole number from 1 on, or Infinity", (value) =>
  isNumber(value, (n) => n === Infinity || (Number.isSafeInteger(n) && n >= 1)),
);
/** A count that may be 0. */
export const many: z.ZodType<number> = thing("a whole number from 0 on, or Infinity", (value) =>
  isNumber(value, (n) => n === Infinity || (Number.isSafeInteger(n) && n >= 0)),
);
/** A number that may have a fraction: bytes, tokens. */
export const amount: z.ZodType<number> = thing("a number from 0 on, or Infinity", (value) =>
  isNumber(value, (n) => n >= 0),
);
export const milliseconds: z.ZodType<number> = thing(
  "a number of milliseconds from 0 on, or Infinity",
  (value) => isNumber(value, (n) => n >= 0),
);
export const time: z.ZodType<number> = thing("a number of epoch milliseconds", (value) =>
  isNumber(value, Number.isFinite),
);
const zoned = z.iso.datetime({ offset: true });
/** A local time would mean another moment on another machine. */
export const moment: z.ZodType<Date | string> = thing<Date | string>(
  "a Date, or an ISO time with its zone, such as 2026-01-31T09:00:00Z",
  (value) =>
    value instanceof Date ? !Number.isNaN(value.getTime()) : zoned.safeParse(value).success,
).meta({ type: "string", format: "date-time" });
/** The session checks whether it has the position. */
export const position: z.ZodType<number> = z.int("a position, which is a whole number");

export function oneOf<const Value extends string>(...values: readonly Value[]): z.ZodType<Value> {
  const words = values.map((value) => `"${value}"`).join(" or ");
  return z.enum(values, words);
}

type OptionalKey<Given> = {
  [Key in keyof Given]-?: object extends Pick<Given, Key> ? Key : never;
}[keyof Given];
type Fields<Key extends PropertyKey> = Readonly<Record<Key, z.ZodType>>;
type RequiredFields<Given> = Fields<Exclude<keyof Given, OptionalKey<Given>>>;

/**
 * No keys but those of `Given`; `undefined` counts as absent. `hints`: advice for some unknown keys, by name.
 * `ignored`: keys that are not checked.
 */
export function optionsOf<Given extends object>(
  optional: Fields<OptionalKey<Given>>,
  required: RequiredFields<Given>,
  { hints = {}, ignored }: UnknownKeys = {},
): z.ZodType {
  const fields: readonly (readonly [string, z.ZodType])[] = [
    ...Object.entries<z.ZodType>(optional),
    ...Object.entries<z.ZodType>(required),
  ];
  const known = fields.map(([key]) => key);
  // Built at first use: importing the package would take a tenth longer.
  return z.lazy(() =>
    z.unknown().superRefine((value, context) => {
      // First, since a misspelt key is often why a required one is missing.
      for (const [key, given] of enumerable(value)) {
        if (given === undefined || known.includes(key) || ignored?.test(key) === true) continue;
        const params = { unknown: key, known, hint: byId(hints, key) } satisfies UnknownKey;
        context.addIssue({ code: "custom", path: [key], params });
      }
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        context.addIssue({ code: "custom", message: "an object" });
        return;
      }
      // Not an object schema: most options are absent, and zod would compile code for all of them.
      for (const [key, field] of fields) {
        const given: unknown = Reflect.get(value, key);
        if (given !== undefined || Object.hasOwn(required, key))
          report(field, given, context, [key]);
      }
    }),
  );
}

interface UnknownKeys {
  readonly hints?: Readonly<Record<string, string>>;
  readonly ignored?: RegExp;
}

interface UnknownKey {
  readonly unknown: string;
  readonly known: readonly string[];
  readonly hint: string | undefined;
}

/** Inherited keys count too: options may be made with `Object.create`. */
function enumerable(value: unknown): readonly (readonly [string, unknown])[] {
  const found: [string, unknown][] = [];
  if (typeof value !== "object" || value === null) return found;
  for (const key in value) found.push([key, Reflect.get(value, key)]);
  return found;
}

/** Other members are allowed. */
export function implementation(required: Fields<string>, optional: Fields<string> = {}): z.ZodType {
  const fields = Object.entries(optional).map(([key, field]) => [key, field.optional()]);
  return z.looseObject({ ...Object.fromEntries(fields), ...required }, "an object");
}

export function named(shape: z.ZodType): z.ZodType {
  return z.looseObject({}, "an object").superRefine((value, context) => {
    for (const [key, one] of Object.entries(value)) {
      if (one !== undefined) report(shape, one, context, [key]);
    }
  });
}

/** `false`, or the options. */
export function off(shape: z.ZodType): z.ZodType {
  return z.unknown().superRefine((value, context) => {
    if (value !== false) report(shape, value, context, [], ", or false");
  });
}

/** Options are checked so rarely that compiling their schemas would take longer. */
export const uncompiled: { readonly jitless: true } = { jitless: true };

export function report(
  shape: z.ZodType,
  value: unknown,
  context: z.RefinementCtx,
  at: readonly PropertyKey[],
  otherwise = "",
): void {
  for (const issue of shape.safeParse(value, uncompiled).error?.issues ?? []) {
    const { path, message } = issue;
    const words = path.length === 0 ? `${message}${otherwise}` : message;
    const params = issue.code === "custom" ? issue.params : undefined;
    context.addIssue({
      code: "custom",
      path: [...at, ...path],
      message: words,
      ...(params === undefined ? {} : { params }),
    });
  }
}
