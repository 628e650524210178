/** Records by ids that come from outside, where "constructor" and "__proto__" are ids like any other. */

import { z } from "zod";

/** What a record holds under an id. What every object has by birth is not in it. */
export function byId<Value>(
  record: Readonly<Record<string, Value>>,
  id: string,
): Value | undefined {
  return Object.hasOwn(record, id) ? record[id] : undefined;
}

/** The schema of such a record: `z.record` would lose the id "__proto__". */
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
