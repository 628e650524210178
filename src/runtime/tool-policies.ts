/** Checks that each tool policy of an agent belongs to a tool. */

import { TurnlogError } from "../events/index.ts";
import { nearestName } from "../validation/index.ts";
import { type Agent, withReader } from "../agent/index.ts";
import { type McpServers, namePrefix } from "../mcp/index.ts";

/** The agent without policies for tools that it does not have, such as those of MCP servers. */
export function withKnownPolicies<Given extends Pick<Agent, "tools" | "toolPolicies" | "context">>(
  agent: Given,
): Given {
  if (agent.toolPolicies === undefined) return agent;
  const tools = withReader(agent).tools ?? {};
  const known = Object.entries(agent.toolPolicies).filter(([tool]) => Object.hasOwn(tools, tool));
  return { ...agent, toolPolicies: Object.fromEntries(known) };
}

/**
 * Refuses a policy for a tool that neither the agent has nor an MCP server of the runtime may offer.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function checkPolicies(
  agent: Pick<Agent, "tools" | "toolPolicies" | "context">,
  servers: McpServers | undefined,
  who: string,
): void {
  const tools = Object.keys(withReader(agent).tools ?? {});
  const prefixes = Object.keys(servers ?? {}).map(namePrefix);
  const isKnown = (tool: string): boolean =>
    tools.includes(tool) || prefixes.some((prefix) => tool.startsWith(prefix));
  const unknown = Object.keys(agent.toolPolicies ?? {}).find((tool) => !isKnown(tool));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, tools);
  const advice =
    nearest === undefined
      ? `The agent has ${tools.length === 0 ? "no tools" : tools.join(", ")}.`
      : `Did you mean \`agent.toolPolicies.${nearest}\`?`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `${who}: \`agent.toolPolicies.${unknown}\` is the policy of a tool that does not exist. ${advice}`,
    {
      details: {
        option: `agent.toolPolicies.${unknown}`,
        ...(nearest === undefined ? {} : { nearest }),
      },
    },
  );
}
