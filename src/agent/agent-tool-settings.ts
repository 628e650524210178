/** The settings of a tool made by `agentTool`. Copies of the tool keep them. */

import { type JsonValue, byId } from "../events/index.ts";
import type { Agent, ToolPolicy } from "./agent.ts";

/** Options of {@link agentTool}. */
export interface AgentToolOptions {
  /** The agent that runs the calls: its settings, or the name of one of the runtime's `agents`. */
  readonly agent: Agent | string;
  /** Tells the model when to use the tool. */
  readonly description: string;
  /**
   * How many levels of sub-agents may run below the first agent: a call in a session at the last level fails.
   * Default 3.
   */
  readonly maxDepth?: number;
}

export const DEFAULT_MAX_DEPTH = 3;

/** Runs a call in its session. A tool finds it in the options of its `execute`. */
export type RunInSession = (input: unknown, signal: AbortSignal) => Promise<JsonValue>;

/** Two copies of the package in one program share it. */
const SETTINGS: unique symbol = Symbol.for("turnlog.agentTool");

interface Marked {
  readonly [SETTINGS]: AgentToolOptions;
}

/** The tool with its settings. A replay gives them to the tools whose recorded calls had a session. */
export function withAgentTool<Given extends object>(
  tool: Given,
  settings: AgentToolOptions,
): Given & Marked {
  return { ...tool, [SETTINGS]: settings };
}

function isMarked(tool: object): tool is Marked {
  return SETTINGS in tool;
}

/** Undefined for any other tool. Spreads keep the settings. */
export function agentToolOptions(tool: object | undefined): AgentToolOptions | undefined {
  return tool !== undefined && isMarked(tool) ? tool[SETTINGS] : undefined;
}

// What happens to a running call of a process that died. Asked when a session recovers.

export function interruptedPolicy(
  { toolPolicies = {}, tools = {} }: Agent,
  toolName: string,
): NonNullable<ToolPolicy["onInterrupted"]> {
  const policy = byId(toolPolicies, toolName);
  // A repeated call of a sub-agent joins its session.
  const isIdempotent = policy?.idempotent ?? agentToolOptions(byId(tools, toolName)) !== undefined;
  return policy?.onInterrupted ?? (isIdempotent ? "retry" : "report");
}
