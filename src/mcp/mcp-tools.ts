/** Makes tools of an agent from an offer of MCP tools, live or recorded. */

import { dynamicTool, jsonSchema, type ToolSet } from "@ai-sdk/provider-utils";
import { z } from "zod";
import {
  ownCopy,
  TurnlogError,
  type AgentDescription,
  type McpOffer,
  type OfferedTool,
} from "../events/index.ts";
import { prepareAgent, type Agent, type PreparedAgent } from "../agent/index.ts";
import { mcpModelOutput } from "./mcp-output.ts";

interface Equipment {
  readonly tools?: ToolSet;
  readonly toolPolicies?: Readonly<Record<string, object>>;
}

/** `signal` asks the tool to stop. */
export type CallTool = (
  tool: OfferedTool,
  input: Record<string, unknown>,
  signal: AbortSignal | undefined,
) => Promise<unknown>;

const inputSchema = z.record(z.string(), z.unknown());

/** Adds the offered tools after the agent's own, which keep their names and policies. */
function withOffer<Given extends Equipment>(
  agent: Given,
  offer: McpOffer | undefined,
  call: CallTool,
): Given {
  if (offer === undefined || offer.tools.length === 0) return agent;
  const offered = offer.tools.map((tool) => [tool.name, agentTool(tool, call)] as const);
  const policies = offer.tools.flatMap(({ name, idempotent }) =>
    idempotent === true ? [[name, { idempotent }] as const] : [],
  );
  return {
    ...agent,
    tools: { ...agent.tools, ...Object.fromEntries(offered), ...agent.tools },
    toolPolicies: { ...Object.fromEntries(policies), ...agent.toolPolicies },
  };
}

/** A model sees these tools, but they cannot run. */
export function withRecordedOffer<Given extends Equipment>(
  agent: Given,
  { mcp }: AgentDescription,
): Given {
  return withOffer(agent, mcp, ({ name }) => {
    throw new TurnlogError(
      "MCP_SERVER_FAILED",
      `The tool ${name} is known from a log only: no server is asked here. The call had no effect.`,
    );
  });
}

export async function equipAgent(
  given: Agent,
  offer: McpOffer,
  call: CallTool,
): Promise<PreparedAgent> {
  const prepared = await prepareAgent(withOffer(given, offer, call));
  return { ...prepared, description: { ...prepared.description, mcp: offer } };
}

function agentTool(offered: OfferedTool, call: CallTool): ToolSet[string] {
  const { description, inputSchema: schema, needsApproval = false } = offered;
  const made = dynamicTool({
    ...(description === undefined ? {} : { description }),
    // A copy: a middleware may change the schema, and the offer is in the log.
    inputSchema: jsonSchema(ownCopy(schema)),
    execute: async (input, { abortSignal }) =>
      await call(offered, inputSchema.parse(input ?? {}), abortSignal),
    toModelOutput: ({ output }) => mcpModelOutput(output),
  });
  // Deprecated for `streamText`; this runtime runs the tools itself and reads the flag.
  // oxlint-disable-next-line typescript/no-deprecated
  return needsApproval ? { ...made, needsApproval } : made;
}
