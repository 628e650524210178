/** `agentTool`: a tool whose calls run in another session. The runtime's tool runner opens that session. */

import { tool, type Tool } from "@ai-sdk/provider-utils";
import { z } from "zod";
import { TurnlogError, type JsonValue } from "../events/index.ts";
import { check, name, optionsOf, several, thing } from "../validation/index.ts";
import { agentSchema } from "./agent-schema.ts";
import { withAgentTool, type AgentToolOptions, type RunInSession } from "./agent-tool-settings.ts";

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
