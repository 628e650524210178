/** The settings of an agent that name tools: each name must be that of a tool. */

import { TurnlogError } from "../../events/index.ts";
import { nearestName } from "../../validation/index.ts";
import { type Agent, withReader } from "../../agent/index.ts";
import { type McpServers, namePrefix } from "../../mcp/index.ts";

type Named = Pick<
  Agent,
  | "tools"
  | "context"
  | "toolPolicies"
  | "activeTools"
  | "toolOrder"
  | "toolChoice"
  | "toolApproval"
  | "toolsContext"
  | "experimental_refineToolInput"
  | "timeout"
>;

function toolNames(agent: Named): readonly string[] {
  return Object.keys(withReader(agent).tools ?? {});
}

/** The agent without policies and lists for tools that it does not have, such as those of MCP servers. */
export function withKnownTools<Given extends Named>(agent: Given): Given {
  const tools = toolNames(agent);
  const { toolPolicies, activeTools, toolOrder, toolApproval } = agent;
  const isKnown = (tool: string): boolean => tools.includes(tool);
  const known = <Value>(record: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> =>
    Object.fromEntries(Object.entries(record).filter(([tool]) => isKnown(tool)));
  return {
    ...agent,
    ...(toolPolicies && { toolPolicies: known(toolPolicies) }),
    ...(activeTools && { activeTools: activeTools.filter(isKnown) }),
    ...(toolOrder && { toolOrder: toolOrder.filter(isKnown) }),
    ...(typeof toolApproval === "object" && { toolApproval: known(toolApproval) }),
  };
}

function namesIn(agent: Named): readonly (readonly [option: string, tool: string])[] {
  const { activeTools = [], toolOrder = [], toolChoice, toolApproval, timeout } = agent;
  const keys = (option: string, record: object = {}): (readonly [string, string])[] =>
    Object.keys(record).map((tool) => [`${option}.${tool}`, tool]);
  const limits = typeof timeout === "object" ? Object.keys(timeout.tools ?? {}) : [];
  return [
    ...keys("toolPolicies", agent.toolPolicies),
    ...activeTools.map((tool) => ["activeTools", tool] as const),
    ...toolOrder.map((tool) => ["toolOrder", tool] as const),
    ...(typeof toolChoice === "object" ? [["toolChoice", toolChoice.toolName] as const] : []),
    ...(typeof toolApproval === "object" ? keys("toolApproval", toolApproval) : []),
    ...keys("toolsContext", agent.toolsContext),
    ...keys("experimental_refineToolInput", agent.experimental_refineToolInput),
    ...limits.map((name) => [`timeout.tools.${name}`, name.replace(/Ms$/, "")] as const),
  ];
}

/** Accepts tools of the agent, and tools that an MCP server may offer. @throws TurnlogError `INVALID_INPUT` */
export function checkToolNames(
  agent: Named,
  servers: McpServers | undefined,
  who: string,
  path = "agent",
): void {
  const tools = toolNames(agent);
  const prefixes = Object.keys(servers ?? {}).map(namePrefix);
  const isKnown = (tool: string): boolean =>
    tools.includes(tool) || prefixes.some((prefix) => tool.startsWith(prefix));
  const unknown = namesIn(agent).find(([, tool]) => !isKnown(tool));
  if (unknown === undefined) return;
  const [option, tool] = unknown;
  const nearest = nearestName(tool, tools);
  const advice =
    nearest === undefined
      ? `The agent has ${tools.length === 0 ? "no tools" : tools.join(", ")}.`
      : `Did you mean \`${nearest}\`?`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `${who}: \`${path}.${option}\` names the tool ${tool}, which does not exist. ${advice}`,
    {
      details: {
        option: `${path}.${option}`,
        ...(nearest === undefined ? {} : { nearest }),
      },
    },
  );
}
