// The input of a recorded call as a value: some were recorded as text, and some of that is not JSON.
import { jsonSchema, type JsonValue } from "../../src/events/index.ts";

export function callInput(text: string | undefined, input: unknown): JsonValue {
  return jsonSchema.parse(
    JSON.parse(text === undefined ? JSON.stringify(input ?? {}) : quoted(text)),
  );
}

function quoted(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
