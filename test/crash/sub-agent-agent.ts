/** An agent with a sub-agent, whose models answer by the prompt alone: a later process continues the same. */

import { tool } from "ai";
import { z } from "zod";
import { agentTool, type Agent } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";

export const places = [
  "before-the-session",
  "after-the-session",
  "after-the-task",
  "in-the-text",
  "in-the-tool",
  "before-the-result",
  "after-the-result",
] as const;
export type Place = (typeof places)[number];

function calling(toolName: string, input: object, text = ""): ScriptedStep {
  const call = { type: "tool-call", toolCallId: toolName, toolName, input } as const;
  return { parts: text === "" ? [call] : [{ type: "text", deltas: [text] }, call] };
}

export function subAgentAgent(inTool: () => void): Agent {
  const helper: Agent = {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "tool" ? "Looked." : calling("look", {}, "Let me look."),
    ),
    tools: {
      look: tool({
        inputSchema: z.object({}),
        execute: () => {
          inTool();
          return "a page";
        },
      }),
    },
    toolPolicies: { look: { idempotent: true } },
  };
  return {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "tool" ? "Done." : calling("help", { task: "Look." }),
    ),
    tools: { help: agentTool({ agent: helper, description: "Looks." }) },
  };
}
