/** Valid session ids. */

import { z } from "zod";
import { TurnlogError } from "./errors.ts";

/** The characters of a URL's path (RFC 3986): an id is text, and a URL has it percent-encoded. */
const sessionIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,511}$/);

export function isSessionId(value: string): boolean {
  return sessionIdSchema.safeParse(value).success;
}

/** @throws TurnlogError `INVALID_INPUT` */
export function parseSessionId(value: unknown): string {
  const parsed = sessionIdSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A session id is 1 to 512 characters of a URL's path (A-Z a-z 0-9 - . _ ~ ! $ & ' ( ) * + , ; = : @ % /) and begins with a letter or a digit; got ${JSON.stringify(value)}.`,
  );
}
