/** Rows as the database answers them, checked. Positions are `bigint` there and safe integers here. */

import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";

/** A position: the driver answers `bigint` as text. */
export const position: z.ZodType<number> = z.coerce.number().pipe(z.int().nonnegative());

/** A value that is stored as the text of JSON. */
export function storedJson<Value>(schema: z.ZodType<Value>): z.ZodType<Value, string> {
  const parsed = z.string().transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue("not JSON");
      return z.NEVER;
    }
  });
  return parsed.pipe(schema);
}

/** @throws TurnlogError `LOG_DAMAGED` if the answer does not have the form that this release's SQL gives */
export function parseRows<Row>(schema: z.ZodType<Row>, rows: readonly unknown[]): readonly Row[] {
  const parsed = z.array(schema).safeParse(rows);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "LOG_DAMAGED",
    "The database answered rows of another form than turnlog writes. Look for changes of its tables by another program.",
    { cause: parsed.error },
  );
}
