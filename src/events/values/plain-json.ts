/** Equals `JSON.parse(JSON.stringify(value))`, but shares texts: copying 60 MB does not take another 120 MB. */

import { MOST_LEVELS, type JsonValue } from "./json.ts";

/** The most characters to copy: their JSON fits into one string, whatever it escapes. */
const MOST_CHARACTERS = 80_000_000;

const field = { enumerable: true, writable: true, configurable: true };

interface Remaining {
  characters: number;
}

/** Undefined if a part of the value is not plain JSON, or it is too large or too deep. */
export function plainJson(value: unknown): JsonValue | undefined {
  return plainValue(value, MOST_LEVELS, { characters: MOST_CHARACTERS });
}

function plainValue(value: unknown, levels: number, remaining: Remaining): JsonValue | undefined {
  if (typeof value === "string") {
    remaining.characters -= value.length;
    return remaining.characters < 0 ? undefined : value;
  }
  if (typeof value === "boolean" || value === null) return value;
  // A negative zero is a zero in JSON.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : undefined;
  if (typeof value !== "object" || levels === 0) return undefined;
  return Array.isArray(value)
    ? plainList(value, levels, remaining)
    : plainObject(value, levels, remaining);
}

function plainList(
  list: readonly unknown[],
  levels: number,
  remaining: Remaining,
): JsonValue | undefined {
  if (Object.getPrototypeOf(list) !== Array.prototype || "toJSON" in list) return undefined;
  const copy: JsonValue[] = [];
  for (const inner of list) {
    const own = plainValue(inner, levels - 1, remaining);
    if (own === undefined) return undefined;
    copy.push(own);
  }
  return copy;
}

function plainObject(object: object, levels: number, remaining: Remaining): JsonValue | undefined {
  // Finds non-enumerable ones too.
  if ("toJSON" in object) return undefined;
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const copy: Record<string, JsonValue> = {};
  for (const [key, inner] of Object.entries(object)) {
    // JSON leaves out functions.
    if (typeof inner === "function") return undefined;
    if (inner === undefined) continue;
    remaining.characters -= key.length;
    const own = plainValue(inner, levels - 1, remaining);
    if (own === undefined) return undefined;
    // Assigning to `__proto__` would set the prototype.
    if (key === "__proto__") Object.defineProperty(copy, key, { value: own, ...field });
    else copy[key] = own;
  }
  return copy;
}
