/** Schemas of records by id, apart from the records: pages fold without zod. */

import { z } from "zod";
import type { ChunkedRecord } from "./by-id.ts";

export function chunkedSchema<Value>(value: z.ZodType<Value>): z.ZodType<ChunkedRecord<Value>> {
  return z.array(byIdSchema(value));
}

/** `z.record` would lose the id "__proto__". */
export function byIdSchema<Value>(
  value: z.ZodType<Value>,
): z.ZodType<Readonly<Record<string, Value>>> {
  return z.preprocess(
    (record) =>
      typeof record === "object" && record !== null ? Object.entries(record) : undefined,
    z
      .array(z.tuple([z.string(), value]))
      .transform((entries): Readonly<Record<string, Value>> => Object.fromEntries(entries)),
  );
}
