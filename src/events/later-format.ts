/** Files and rows that name their format: what a later release wrote is refused before its form is read. */

import { z } from "zod";
import { TurnlogError, type TurnlogErrorOptions } from "./errors.ts";

const formatSchema = z.looseObject({ format: z.int().positive() });

/**
 * A later release may have given everything but the format another form: without this check, what it
 * wrote would be taken for damage.
 * @param what - What was read, for the message.
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
