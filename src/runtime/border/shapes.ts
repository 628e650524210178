/**
 * The shapes of single options, each in words that follow "must be". Schemas that only check: what is
 * given may be an instance of any class, and is handed on as it is.
 */

import { z } from "zod";

/** A shape that is told by one question. */
export function thing<Value = unknown>(
  words: string,
  fits: (value: unknown) => boolean,
): z.ZodType<Value> {
  return z.custom<Value>(fits, words);
}

function isNumber(value: unknown, fits: (number: number) => boolean): boolean {
  return typeof value === "number" && fits(value);
}

export const text: z.ZodType<string> = thing("a text", (value) => typeof value === "string");
export const name: z.ZodType<string> = thing(
  "a text that is not empty",
  (value) => typeof value === "string" && value !== "",
);
export const flag: z.ZodType<boolean> = thing(
  "true or false",
  (value) => typeof value === "boolean",
);
export const code: z.ZodType = thing("a function", (value) => typeof value === "function");
/** How many, where none makes no sense. */
export const several: z.ZodType<number> = thing("a whole number from 1 on, or Infinity", (value) =>
  isNumber(value, (n) => n === Infinity || (Number.isSafeInteger(n) && n >= 1)),
);
/** How many, also none. */
export const many: z.ZodType<number> = thing("a whole number from 0 on, or Infinity", (value) =>
  isNumber(value, (n) => n === Infinity || (Number.isSafeInteger(n) && n >= 0)),
);
/** A number with a fraction, without an end: bytes, tokens. */
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
/** Whether a session has it is for the session to say. */
export const position: z.ZodType<number> = thing("a position, which is a whole number", (value) =>
  isNumber(value, Number.isSafeInteger),
);

export function oneOf<const Value extends string>(...values: readonly Value[]): z.ZodType<Value> {
  const words = values.map((value) => `"${value}"`).join(" or ");
  return z.enum(values, words);
}

type Fields = Readonly<Record<string, z.ZodType>>;

/**
 * An object with such fields, each of which may be missing or undefined, and others that it must have.
 * What else is in it is nobody's business here.
 */
export function options(fields: Fields, needed: Fields = {}): z.ZodType {
  const optional = Object.entries(fields).map(([key, field]) => [key, field.optional()]);
  return z.looseObject({ ...Object.fromEntries(optional), ...needed }, "an object");
}

/** Any names, all with the same shape. */
export function named(shape: z.ZodType): z.ZodType {
  return z.looseObject({}, "an object").superRefine((value, context) => {
    for (const [key, one] of Object.entries(value)) {
      if (one !== undefined) report(shape, one, context, [key]);
    }
  });
}

/** Switched off, or set up. */
export function off(shape: z.ZodType): z.ZodType {
  return z.unknown().superRefine((value, context) => {
    if (value !== false) report(shape, value, context, [], ", or false");
  });
}

/** Says what is wrong with a value, as what is wrong with that of which it is part. */
function report(
  shape: z.ZodType,
  value: unknown,
  context: z.RefinementCtx,
  at: readonly PropertyKey[],
  otherwise: string = "",
): void {
  for (const { path, message } of shape.safeParse(value).error?.issues ?? []) {
    const words = path.length === 0 ? `${message}${otherwise}` : message;
    context.addIssue({ code: "custom", path: [...at, ...path], message: words });
  }
}
