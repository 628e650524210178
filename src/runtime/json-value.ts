/** Brings whatever a tool, a provider or an error holds into JSON, so that the log can keep it. */

import { serializeError } from "serialize-error";
import { configure } from "safe-stable-stringify";
import { jsonObjectSchema, jsonSchema, type JsonValue, type StoredError } from "../events/index.ts";

// Property order is content to whoever reads a log; cycles and big integers must not throw.
const stringify = configure({ deterministic: false, bigint: false, circularValue: "[Circular]" });

/**
 * The value as JSON would carry it: dates as text, `undefined` left out (alone: `null`),
 * big integers as decimal text, cycles as `"[Circular]"`.
 */
export function toJson(value: unknown): JsonValue {
  if (typeof value === "string") return value;
  const text = stringifyQuickly(value) ?? stringifySafely(value);
  return text === undefined ? null : jsonSchema.parse(JSON.parse(text));
}

/** Nearly everything is JSON as it stands; what is not takes the slow way. */
function stringifyQuickly(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // A cycle or a big integer.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function stringifySafely(value: unknown): string | undefined {
  return stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? inner.toString() : inner,
  );
}

// The request that failed is in the log already, as the prompt of its step.
const omitted = new Set(["requestBodyValues"]);

function withoutRequests(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutRequests);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      omitted.has(key) ? [] : [[key, withoutRequests(inner)]],
    ),
  );
}

/** An error as it is stored: own fields and the chain of causes included. Anything thrown will do. */
export function toStoredError(error: unknown): StoredError {
  const fields = jsonObjectSchema.parse(withoutRequests(toJson(serializeError(error))));
  const { name, message, ...rest } = fields;
  return {
    ...rest,
    name: typeof name === "string" ? name : "Error",
    // Of an object that is no error, its content says more than "[object Object]".
    message: typeof message === "string" ? message : JSON.stringify(fields),
  };
}
