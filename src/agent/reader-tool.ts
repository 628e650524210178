/**
 * The built-in tool by which the model reads on in a result that it is shown cut. Offered from the
 * first step on, as a tool that came later would break the provider's prompt cache (decision 15).
 */

import { asSchema, tool, type Schema, type Tool, type ToolSet } from "@ai-sdk/provider-utils";
import { z } from "zod";
import { byId } from "../events/index.ts";
import type { ContextOptions } from "./context-options.ts";

const READER = "read_tool_output";

/** What of an agent is looked at here. */
interface Equipment {
  readonly tools?: ToolSet;
  readonly toolPolicies?: Readonly<Record<string, object>>;
  readonly context?: ContextOptions;
}

/** What the model asks for, in characters. */
export interface ReadRequest {
  readonly call: string;
  readonly from: number;
  readonly length?: number | undefined;
}

const request: z.ZodType<ReadRequest> = z.object({
  call: z.string().describe("Which result, as the note in it says; for instance 3.1"),
  from: z.int().nonnegative().default(0).describe("The first character, counted from 0"),
  length: z
    .int()
    .positive()
    .optional()
    .describe("Characters at most; by default as many as there is room for"),
});

/** One object: by it the built-in tool is told from one that the user has under its name. */
const inputSchema: Schema<ReadRequest> = asSchema(request);

const description =
  "Reads on in an earlier tool result that was too long to be shown whole. Only for results with a note that says so.";

const definition: Tool<ReadRequest> = tool({ description, inputSchema });

/** The agent with the tool, unless it has no tools that could need it, or one of that name, or does not want it. */
export function withReader<Agent extends Equipment>(agent: Agent): Agent {
  const { tools = {} } = agent;
  const needsIt = Object.values(tools).some(({ execute }) => execute !== undefined);
  if (!isWanted(agent) || !needsIt || byId(tools, READER) !== undefined) return agent;
  return {
    ...agent,
    tools: { ...tools, [READER]: definition },
    toolPolicies: { [READER]: { idempotent: true }, ...agent.toolPolicies },
  };
}

/** The tool that notes in cut results name: the built-in one, or the user's own in its place. */
export function readerName(agent: Equipment): string | undefined {
  return isWanted(agent) && byId(agent.tools ?? {}, READER) !== undefined ? READER : undefined;
}

function isWanted({ context: { cut = {} } = {} }: Equipment): boolean {
  return cut !== false && cut.reader !== false;
}

/** The agent with the built-in tool, where it has that, made to run. */
export function bindReader<Agent extends Equipment>(
  agent: Agent,
  read: (asked: ReadRequest) => string,
): Agent {
  const { tools = {} } = agent;
  if (byId(tools, READER)?.inputSchema !== inputSchema) return agent;
  const bound: Tool<ReadRequest, string> = tool({ description, inputSchema, execute: read });
  return { ...agent, tools: { ...tools, [READER]: bound } };
}
