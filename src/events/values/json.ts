/** Plain JSON, the only kind of data that an event carries. */

import { z } from "zod";

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

export const jsonObjectSchema: z.ZodType<JsonObject> = z.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** Data that providers add to a part, by provider name. It goes back to that provider unchanged. */
export type ProviderMetadata = Readonly<Record<string, JsonObject>>;

export const providerMetadataSchema: z.ZodType<ProviderMetadata> = z.custom<ProviderMetadata>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

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
