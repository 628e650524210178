/**
 * Every row begins with a checksum. Event rows have the codec's; other rows have one over key and
 * JSON, so that reading finds a flipped bit and a row under a wrong key.
 */

import { crc32 } from "node:zlib";
import type { z } from "zod";
import { CHECKSUM_LENGTH, ownJson, seededChecksum } from "../../../events/index.ts";

export function checksumOf(row: string): string {
  return row.slice(0, CHECKSUM_LENGTH);
}

export function withChecksum(key: string, value: unknown): string {
  const json = JSON.stringify(value);
  return seededChecksum(json, crc32(key)) + json;
}

export function checkedRow<Value>(
  key: string,
  row: string,
  schema: z.ZodType<Value>,
): Value | undefined {
  // Each schema reads few rows in a process: compiling it would take longer than parsing them.
  return schema.safeParse(rowContent(key, row), { jitless: true }).data;
}

/** The JSON value of a row of unknown form; undefined if the row is damaged. */
export function rowContent(key: string, row: string): unknown {
  const json = row.slice(CHECKSUM_LENGTH);
  return checksumOf(row) === seededChecksum(json, crc32(key)) ? ownJson(row) : undefined;
}
