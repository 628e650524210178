/** `agentTool`: a tool whose calls run in another session. The runtime's tool runner opens that session. */

import { tool, type Tool } from "@ai-sdk/provider-utils";
import { z } from "zod";
import { TurnlogError, type JsonValue, byId } from "../events/index.ts";
import { check, name, optionsOf, several, thing } from "../validation/index.ts";
import { agentSchema } from "./agent-schema.ts";
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

/** The input that the model gives a sub-agent. */
type SubAgentTask = {
  /** The message that the sub-agent gets. */
  readonly task: string;
};

const optionsSchema = optionsOf<AgentToolOptions>(
  { maxDepth: several },
  {
    agent: z.unknown(),
    description: thing("a text", (value) => typeof value === "string" && value !== ""),
  },
);

const givenSchema = z.object({
  turnlog: z.object({
    runInSession: z.custom<RunInSession>((value) => typeof value === "function"),
  }),
});

/**
 * A tool whose calls are run by an agent in a session of its own, which the runtime opens. The model gives the
 * `task`; the result is the agent's last text, or its `output`. The session is resumed after a crash, and
 * cancelled with the call.
 * @throws TurnlogError `INVALID_INPUT`
 * @example
 * const research = agentTool({
 *   agent: { model, instructions: "Find the facts. End with a summary.", tools: { search } },
 *   description: "Finds facts about one question.",
 * });
 * const runtime = await createRuntime({ dir, agent: { model, tools: { research } } });
 */
export function agentTool(options: AgentToolOptions): Tool<SubAgentTask, JsonValue> {
  check(optionsSchema, options, "agentTool", { name: "options" });
  const { agent, description } = options;
  check(typeof agent === "string" ? name : agentSchema, agent, "agentTool", {
    name: "options.agent",
  });
  const made = tool<SubAgentTask, JsonValue, Record<string, unknown>>({
    description,
    inputSchema: z.object({
      task: z.string().describe("All that the agent needs to know: it sees nothing else."),
    }),
    execute: async (task, given) => {
      const found = givenSchema.safeParse(given);
      if (found.success) {
        const { abortSignal = new AbortController().signal } = given;
        return await found.data.turnlog.runInSession(task, abortSignal);
      }
      throw new TurnlogError(
        "COMMAND_REFUSED",
        "A tool of `agentTool` runs only in a turnlog session. Give it to an agent of `createRuntime`.",
      );
    },
  });
  return withAgentTool(made, { ...options });
}
