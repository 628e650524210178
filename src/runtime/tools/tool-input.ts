/** The input that a tool is given: as its schema made it. */

import { safeValidateTypes } from "@ai-sdk/provider-utils";
import type { Tool } from "ai";
import { ownCopy, type JsonValue } from "../../events/index.ts";

/**
 * Brings a recorded input back into the form that the tool's schema makes (dates, defaults). Needed
 * after a restart, when what the schema made is gone and its JSON is left. JSON that the schema no
 * longer accepts, since it holds the schema's output and not its input, is handed over as it is.
 */
export async function inputFromRecord(tool: Tool, recorded: JsonValue): Promise<unknown> {
  // Not every schema makes a new value, and a tool may change what it is given.
  const value = ownCopy(recorded);
  const validated = await safeValidateTypes({ value, schema: tool.inputSchema });
  return validated.success ? validated.value : value;
}
