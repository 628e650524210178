/** Checks what a client sent by a route's schema. */

import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import { nearestName } from "../../validation/index.ts";

/**
 * The parsed value.
 * @param where - The route, for the message.
 * @throws TurnlogError `INVALID_INPUT`; `details.option` has the path of the first wrong field
 */
export function parsed<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  where: string,
): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = (issue?.path ?? []).map(String).join(".");
  const option = path === "" ? "body" : path;
  throw new TurnlogError("INVALID_INPUT", `${where}: ${sentence(issue, option, schema)}`, {
    cause: result.error,
    details: { option },
  });
}

function sentence(issue: z.core.$ZodIssue | undefined, option: string, schema: z.ZodType): string {
  if (issue?.code !== "unrecognized_keys")
    return `\`${option}\` is wrong: ${issue?.message ?? "it does not fit"}.`;
  const [key = ""] = issue.keys;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const nearest = nearestName(key, known);
  if (nearest !== undefined) return `\`${key}\` is unknown. Did you mean \`${nearest}\`?`;
  return `\`${key}\` is unknown.${known.length === 0 ? "" : ` Known here: ${known.join(", ")}.`}`;
}
