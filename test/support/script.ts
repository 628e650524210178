/** Short words for scripts of the scripted model. */

import type { ScriptedPart, ScriptedToolCall } from "../../src/models/index.ts";

export function call(toolName: string, toolCallId: string, input: unknown = {}): ScriptedToolCall {
  return { type: "tool-call", toolName, toolCallId, input };
}

export interface Parts {
  readonly parts: readonly ScriptedPart[];
}

/** One step that makes these calls, after whatever else it says. */
export function calling(...parts: readonly ScriptedPart[]): Parts {
  return { parts };
}

export function saying(
  ...deltas: readonly (string | (ScriptedPart & { readonly type: "gate" }))[]
): Parts {
  return { parts: [{ type: "text", deltas }] };
}
