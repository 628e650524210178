/** A line of a session's file, before a schema has looked at it. Called by the readers of its kinds of lines. */

/** A line that is no JSON is for the schemas to refuse: nothing they accept is undefined. */
export function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
