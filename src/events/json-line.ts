/** A line of a session's file, before a schema has looked at it. Called by the readers of its kinds of lines. */

import { TurnlogError } from "./errors.ts";
import { isNestedDeeper, jsonSchema, MOST_LEVELS } from "./json.ts";

/** Of what an earlier release wrote, which did not limit them: what every walk still comes to the end of. */
const MOST_IMPORTED_LEVELS = 4 * MOST_LEVELS;

/**
 * A line that is no JSON is for the schemas to refuse: nothing they accept is undefined.
 * @throws TurnlogError `INVALID_INPUT` for a value that is nested too deeply
 */
export function jsonOf(line: string): unknown {
  try {
    const value = jsonSchema.parse(JSON.parse(line));
    if (!isNestedDeeper(value, MOST_IMPORTED_LEVELS)) return value;
    throw new TurnlogError(
      "INVALID_INPUT",
      `The file has a value that is nested more than ${MOST_IMPORTED_LEVELS} levels deep. Nothing was imported.`,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
