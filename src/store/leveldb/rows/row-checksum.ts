/**
 * Every row begins with a checksum. Event rows have the codec's; all others one over their key and
 * their JSON, so that a flipped bit, or a row under another row's key, is found when it is read.
 */

import { crc32 } from "node:zlib";
import type { z } from "zod";
import { CHECKSUM_LENGTH, ownJson, seededChecksum } from "../../../events/index.ts";

/** The checksum at the beginning of any row. */
export function checksumOf(row: string): string {
  return row.slice(0, CHECKSUM_LENGTH);
}

/** The stored form of a value under a key. */
export function withChecksum(key: string, value: unknown): string {
  const json = JSON.stringify(value);
  return seededChecksum(json, crc32(key)) + json;
}

/** The value of a stored row, or undefined when the row is not what was written there. */
export function checkedRow<Value>(
  key: string,
  row: string,
  schema: z.ZodType<Value>,
): Value | undefined {
  // Each of these schemas reads few rows in a process: compiling one would take longer than all of them.
  return schema.safeParse(rowContent(key, row), { jitless: true }).data;
}

/** What a row says whose form is not known yet; undefined when its checksum does not match or it is no JSON. */
export function rowContent(key: string, row: string): unknown {
  const json = row.slice(CHECKSUM_LENGTH);
  return checksumOf(row) === seededChecksum(json, crc32(key)) ? ownJson(row) : undefined;
}
