/** Which tools a session waits for a person about: a turn that stands still until calls are answered for. Pure. */

import type { SessionView } from "../runtime/index.ts";

/** Their names, each once; none where the turn goes on by itself, or stops. */
export function askedTools({ state, toolCalls }: SessionView): readonly string[] {
  if (state.value !== "tools" || state.context.stopping !== undefined) return [];
  const asked = toolCalls.filter(({ status }) => status === "awaiting-approval");
  return [...new Set(asked.map(({ toolName }) => toolName))];
}
