/** Tools of MCP servers. */

export type { HttpMcpServer, McpServer, McpServers, StdioMcpServer } from "./mcp-options.ts";
export { failureOutput } from "./mcp-output.ts";
export { OpenMcpServers, openMcpServers } from "./mcp-servers.ts";
export { type CallTool, equipAgent, withRecordedOffer } from "./mcp-servers.ts";
export { namePrefix } from "./mcp-servers.ts";
