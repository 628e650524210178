/** What happens to a running call of a process that died. Asked when a session recovers. */

import { byId } from "../events/index.ts";
import { agentToolOptions } from "./agent-tool-settings.ts";
import type { Agent, ToolPolicy } from "./agent.ts";

export function interruptedPolicy(
  { toolPolicies = {}, tools = {} }: Agent,
  toolName: string,
): NonNullable<ToolPolicy["onInterrupted"]> {
  const policy = byId(toolPolicies, toolName);
  // A repeated call of a sub-agent joins its session.
  const isIdempotent = policy?.idempotent ?? agentToolOptions(byId(tools, toolName)) !== undefined;
  return policy?.onInterrupted ?? (isIdempotent ? "retry" : "report");
}
