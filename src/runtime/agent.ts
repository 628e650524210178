/** What a user hands over to be run: a model, its instructions and tools, taken from the AI SDK unchanged. */

import { hash } from "node:crypto";
import { asSchema, type ProviderOptions } from "@ai-sdk/provider-utils";
import type { LanguageModel, LanguageModelCallOptions, ToolCallRepairFunction, ToolSet } from "ai";
import type { AgentDescription, ModelName } from "../events/index.ts";
import { toJson } from "./json-value.ts";

export interface Agent {
  readonly model: LanguageModel;
  readonly instructions?: string;
  readonly tools?: ToolSet;
  /** Steps that one turn may take. Default 50. */
  readonly maxSteps?: number;
  /** Tools of one step that may run at the same time. Default 8. */
  readonly toolConcurrency?: number;
  /** Milliseconds that a tool may run: for all tools, or by tool name. Default: no limit. */
  readonly toolTimeoutMs?: number | Readonly<Record<string, number>>;
  /** Attempts at a model call that fails before it has said anything. Default 3. */
  readonly maxAttempts?: number;
  /** The AI SDK's call settings: `temperature`, `maxOutputTokens`, … */
  readonly settings?: LanguageModelCallOptions;
  readonly headers?: Record<string, string>;
  readonly providerOptions?: ProviderOptions;
  /** Passed to the AI SDK: mends calls of unknown tools and calls with invalid input. */
  readonly repairToolCall?: ToolCallRepairFunction<ToolSet>;
}

/** An agent with what follows from it, worked out once. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly description: AgentDescription;
  /** Characters of instructions and tool definitions: the part of every prompt that stays. */
  readonly fixedCharacters: number;
}

export const DEFAULT_MAX_STEPS = 50;
export const DEFAULT_TOOL_CONCURRENCY = 8;
export const DEFAULT_MAX_ATTEMPTS = 3;

function nameOf(model: LanguageModel): ModelName {
  return typeof model === "string"
    ? { provider: "gateway", modelId: model }
    : { provider: model.provider, modelId: model.modelId };
}

export async function prepareAgent(agent: Agent): Promise<PreparedAgent> {
  const tools = await Promise.all(
    Object.entries(agent.tools ?? {}).map(async ([name, tool]) => ({
      name,
      // A description made per call is not part of what the agent is.
      description: typeof tool.description === "string" ? tool.description : null,
      inputSchema: await asSchema(tool.inputSchema).jsonSchema,
    })),
  );
  const model = nameOf(agent.model);
  const instructions = agent.instructions ?? "";
  const definition = JSON.stringify(toJson({ model, instructions, tools }));
  return {
    agent,
    description: {
      digest: hash("sha256", definition),
      model,
      tools: tools.map((tool) => tool.name),
    },
    fixedCharacters: instructions.length + JSON.stringify(tools).length,
  };
}
