/** Tools of MCP servers. */

export type { HttpMcpServer, McpServer, McpServers, StdioMcpServer } from "./mcp-options.ts";
export { failureOutput } from "./mcp-output.ts";
export {
  OpenMcpServers,
  openMcpServers,
  type CallTool,
  equipAgent,
  withRecordedOffer,
  namePrefix,
} from "./mcp-servers.ts";
