/**
 * What comes in from programs is parsed here: options of runtimes and agents, arguments of commands.
 * Types do not bind a caller without types, nor do they know NaN. What does not fit is refused by its
 * name before anything is written; what fits is handed on as it was given.
 */

import type { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import { toStoredError } from "../json-value.ts";

/**
 * @param who What was asked for, as `createRuntime`.
 * @throws TurnlogError `INVALID_INPUT`, which names the first option that does not fit
 */
export function check(
  schema: z.ZodType,
  given: unknown,
  who: string,
  place: { readonly name?: string; readonly session?: string } = {},
): void {
  const { name, session } = place;
  let parsed: z.ZodSafeParseResult<unknown>;
  try {
    parsed = schema.safeParse(given);
  } catch (error) {
    throw unreadable(`${who}: \`${name ?? "what it is given"}\``, error, session);
  }
  if (parsed.success) return;
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  const named = [...(name === undefined ? [] : [name]), ...path].map(String).join(".");
  throw new TurnlogError(
    "INVALID_INPUT",
    `${who}: ${named === "" ? "what it is given" : `\`${named}\``} must be ${issue?.message ?? "something else"}, not ${shown(valueAt(given, path))}.`,
    { cause: parsed.error, ...(session === undefined ? {} : { session }) },
  );
}

/** Of a value that throws when it is read, as a proxy may. */
export function unreadable(what: string, error: unknown, session?: string): TurnlogError {
  const { message } = toStoredError(error);
  return new TurnlogError(
    "INVALID_INPUT",
    `${what} cannot be read: reading it throws (${message}).`,
    session === undefined ? {} : { session },
  );
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  let value = given;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Enough to know it by; what is in an object may be secret. */
function shown(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? "an array" : "an object";
    case "function":
      return "a function";
    default:
      return String(value);
  }
}
