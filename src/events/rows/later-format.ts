/** Refuses files and rows of a later format, which would else be reported as damaged. */

import { z } from "zod";
import { TurnlogError, type TurnlogErrorOptions } from "../values/errors.ts";

const formatSchema = z.looseObject({ format: z.int().positive() });

/**
 * @param what - The name of the thing that was read, for the message.
 * @param known - The newest format that this release reads.
 * @throws TurnlogError `LOG_TOO_NEW`
 */
export function assertKnownFormat(
  what: string,
  value: unknown,
  known: number,
  { code = "LOG_TOO_NEW", ...options }: LaterFormatOptions = {},
): void {
  const format = formatSchema.safeParse(value, { jitless: true }).data?.format;
  if (format === undefined || format <= known) return;
  throw new TurnlogError(
    code,
    `${what} was written by a later release of turnlog: it has format ${format}, and this release reads up to format ${known}. Nothing was changed. Use the release that wrote it, or a later one.`,
    { ...options, details: { ...options.details, format } },
  );
}

interface LaterFormatOptions extends TurnlogErrorOptions {
  readonly code?: "LOG_TOO_NEW" | "EVENT_TOO_NEW";
}
