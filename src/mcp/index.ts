/** Tools of MCP servers. */

import type { McpServers } from "./mcp-options.ts";
import type { McpSurroundings, OpenMcpServers } from "./mcp-servers.ts";

export type {
  AskPerson,
  HttpMcpServer,
  McpLogin,
  McpServer,
  McpServers,
  McpTurn,
  StdioMcpServer,
} from "./mcp-options.ts";
export { failureOutput } from "./mcp-output.ts";
export type { FinishedLogin, McpResource, OpenMcpServers } from "./mcp-servers.ts";
export { type CallTool, equipAgent, withRecordedOffer, namePrefix } from "./offered-tools.ts";

/** Undefined without servers: what runs them is loaded for those who have some. */
export async function openMcpServers(
  mcp: McpServers = {},
  around: McpSurroundings,
): Promise<OpenMcpServers | undefined> {
  if (Object.keys(mcp).length === 0) return undefined;
  const loaded = await import("./mcp-servers.ts");
  return new loaded.OpenMcpServers(mcp, around);
}
