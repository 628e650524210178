/** Plain JSON, the only kind of data that an event carries. */

import { z } from "zod";
import { isRecord } from "./shared-value.ts";

/**
 * A value that JSON can hold, read-only at every depth.
 * @example
 * const metadata: JsonValue = { userId: "u-1", tags: ["new"] };
 */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export type JsonObject = Readonly<Record<string, JsonValue>>;

/** The most levels of lists and objects in a value: functions walk stored values by recursion. */
export const MOST_LEVELS = 500;

export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isNestedDeeper(inner, levels - 1)) return true;
  return false;
}

/** Accepts any result of `JSON.parse`: walking it would only prove what the parser guarantees. */
export const jsonSchema: z.ZodType<JsonValue> = z.custom<JsonValue>((value) => value !== undefined);

export const jsonObjectSchema: z.ZodType<JsonObject> = z.custom<JsonObject>(isRecord);

/** Data that providers add to a part, by provider name. It goes back to that provider unchanged. */
export type ProviderMetadata = Readonly<Record<string, JsonObject>>;

export const providerMetadataSchema: z.ZodType<ProviderMetadata> =
  z.custom<ProviderMetadata>(isRecord);

/** An error as JSON: name, message, stack, own fields and the chain of causes. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly [field: string]: JsonValue;
}

export const storedErrorSchema: z.ZodType<StoredError> = z
  .object({ name: z.string(), message: z.string() })
  .catchall(jsonSchema);

/**
 * Canonical JSON (RFC 8785): keys in the order of their code units. Other values become what
 * `JSON.stringify` makes of them.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = JSON.parse(JSON.stringify(value) ?? "null");
    return canonicalJson(plain);
  }
  let fields = "";
  for (const [name, inner] of sortedByName(Object.entries(value))) {
    if (inner !== undefined && typeof inner !== "function")
      fields += `${fields === "" ? "" : ","}${JSON.stringify(name)}:${canonicalJson(inner)}`;
  }
  return `{${fields}}`;
}

/** Most objects have few fields, in this order already: a sort costs more than all the rest. */
function sortedByName(fields: readonly [string, unknown][]): readonly [string, unknown][] {
  const isSorted = fields.every(([name], index) => name >= (fields[index - 1]?.[0] ?? ""));
  return isSorted ? fields : fields.toSorted(byName);
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : Number(one > other);
}

// Equals `JSON.parse(JSON.stringify(value))`, but shares texts: copying 60 MB does not take another 120 MB.

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
