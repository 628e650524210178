/**
 * The built-in tool `read_tool_output`: the model reads the rest of a cut result with it. Offered from the first step,
 * since a later change of tools would break the provider's prompt cache (docs/decisions/0019-long-results-are-cut.md).
 */

import { asSchema, tool, type Schema, type Tool, type ToolSet } from "@ai-sdk/provider-utils";
import { z } from "zod";
import { byId } from "../events/index.ts";
import { READER, sentNames } from "../folds/index.ts";
import type { ContextOptions } from "./context-options.ts";

interface Equipment {
  readonly tools?: ToolSet;
  readonly toolPolicies?: Readonly<Record<string, object>>;
  readonly context?: ContextOptions;
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
}

/** The input of the tool, in characters. */
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

/** The identity of this object distinguishes the built-in tool from a user's tool of the same name. */
const inputSchema: Schema<ReadRequest> = asSchema(request);

const description =
  "Reads on in an earlier tool result that was too long to be shown whole. Only for results with a note that says so.";

const definition: Tool<ReadRequest> = tool({ description, inputSchema });

/** Adds the tool, unless only the provider runs tools, the agent has one of that name, or disables it. */
export function withReader<Agent extends Equipment>(agent: Agent): Agent {
  const { tools = {} } = agent;
  const needsIt = Object.values(tools).some(
    (one) => one.execute !== undefined || one.type !== "provider" || !one.isProviderExecuted,
  );
  if (!isWanted(agent) || !needsIt || byId(tools, READER) !== undefined) return agent;
  return {
    ...agent,
    tools: { ...tools, [READER]: definition },
    toolPolicies: { [READER]: { idempotent: true }, ...agent.toolPolicies },
  };
}

/** The name of the tool in notes of cut results; undefined if the agent has none. */
export function readerName(agent: Equipment): string | undefined {
  return isWanted(agent) && byId(agent.tools ?? {}, READER) !== undefined ? READER : undefined;
}

function isReader(one: Pick<Tool, "inputSchema"> | undefined): boolean {
  return one?.inputSchema === inputSchema;
}

function isWanted({ context: { cut = {} } = {} }: Equipment): boolean {
  return cut !== false && cut.reader !== false;
}

/** Gives the built-in tool its `execute` function, if the agent has the tool. */
export function bindReader<Agent extends Equipment>(
  agent: Agent,
  read: (request: ReadRequest) => string,
): Agent {
  const { tools = {} } = agent;
  if (!isReader(byId(tools, READER))) return agent;
  const bound: Tool<ReadRequest, string> = tool({ description, inputSchema, execute: read });
  return { ...agent, tools: { ...tools, [READER]: bound } };
}

// The tools that a request has, by the AI SDK's `activeTools` and `toolOrder`.

/** The active tools in the order of a request. The built-in `read_tool_output` is always active. */
export function sentTools({ tools, ...choice }: Equipment): ToolSet | undefined {
  if (tools === undefined || (choice.activeTools === undefined && choice.toolOrder === undefined))
    return tools;
  const known = new Map(Object.entries(tools));
  const isOwn = (name: string): boolean => {
    const tool = known.get(name);
    return tool !== undefined && isReader(tool);
  };
  const names = sentNames([...known.keys()], choice, isOwn);
  return Object.fromEntries(
    names.flatMap((name) => {
      const tool = known.get(name);
      return tool === undefined ? [] : [[name, tool] as const];
    }),
  );
}
