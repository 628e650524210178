/**
 * Every row begins with a checksum. Event rows have the codec's; all others one over their key and
 * their JSON, so that a flipped bit, or a row under another row's key, is found when it is read.
 */

import { crc32 } from "node:zlib";
import type { z } from "zod";
import { checksum, seededChecksum, type RowKey } from "../codec.ts";

const LENGTH = 7;

/** The checksum at the beginning of any row. */
export function sealOf(row: string): string {
  return row.slice(0, LENGTH);
}

/** The stored form of a value under a key. */
export function seal(key: string, value: unknown): string {
  const json = JSON.stringify(value);
  return seededChecksum(json, crc32(key)) + json;
}

/** The value of a stored row, or undefined when the row is not what was written there. */
export function unseal<Value>(
  key: string,
  row: string,
  schema: z.ZodType<Value>,
): Value | undefined {
  const json = row.slice(LENGTH);
  if (sealOf(row) !== seededChecksum(json, crc32(key))) return undefined;
  return schema.safeParse(JSON.parse(json)).data;
}

/** Whether an event's row is what was written at a position, without reading what it says. */
export function isIntact(row: string, key: RowKey): boolean {
  return sealOf(row) === checksum(row.slice(LENGTH), key);
}
