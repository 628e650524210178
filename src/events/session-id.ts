/** Valid session ids: safe in keys, file names, URLs and shells. */

import { z } from "zod";
import { TurnlogError } from "./errors.ts";

const sessionIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/);

/** @throws TurnlogError `INVALID_INPUT` */
export function parseSessionId(value: unknown): string {
  const parsed = sessionIdSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A session id is 1 to 128 of the characters A-Z a-z 0-9 . _ : @ - and begins with a letter or a digit; got ${JSON.stringify(value)}.`,
  );
}
