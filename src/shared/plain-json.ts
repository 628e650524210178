/**
 * A copy of a value that is JSON already, as `JSON.parse(JSON.stringify(value))` would make it, which
 * shares its texts: an answer of 60 megabytes takes no other 120 for a moment.
 */

import { MOST_LEVELS, type JsonValue } from "../events/index.ts";

/** Characters that are copied here: the JSON of as many is a text, however many of them it escapes. */
const MOST_CHARACTERS = 80_000_000;

/** What may still be copied. */
interface Room {
  characters: number;
}

/** The copy, or undefined for a value that is not plain JSON data from top to bottom, or too large or deep. */
export function plainJson(value: unknown): JsonValue | undefined {
  return plainValue(value, MOST_LEVELS, { characters: MOST_CHARACTERS });
}

function plainValue(value: unknown, levels: number, room: Room): JsonValue | undefined {
  if (typeof value === "string") {
    room.characters -= value.length;
    return room.characters < 0 ? undefined : value;
  }
  if (typeof value === "boolean" || value === null) return value;
  // A negative zero is a zero in JSON.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : undefined;
  if (typeof value !== "object" || levels === 0) return undefined;
  return Array.isArray(value) ? plainList(value, levels, room) : plainObject(value, levels, room);
}

function plainList(list: readonly unknown[], levels: number, room: Room): JsonValue | undefined {
  if (Object.getPrototypeOf(list) !== Array.prototype || "toJSON" in list) return undefined;
  const copy: JsonValue[] = [];
  for (const inner of list) {
    const own = plainValue(inner, levels - 1, room);
    if (own === undefined) return undefined;
    copy.push(own);
  }
  return copy;
}

function plainObject(object: object, levels: number, room: Room): JsonValue | undefined {
  // Also one that is not enumerable.
  if ("toJSON" in object) return undefined;
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const copy: Record<string, JsonValue> = {};
  for (const [key, inner] of Object.entries(object)) {
    // What JSON leaves out or calls, and a key that an assignment takes for the prototype.
    if (typeof inner === "function" || key === "__proto__") return undefined;
    if (inner === undefined) continue;
    room.characters -= key.length;
    const own = plainValue(inner, levels - 1, room);
    if (own === undefined) return undefined;
    copy[key] = own;
  }
  return copy;
}
