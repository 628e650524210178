/** Tools of MCP servers. */

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
export {
  OpenMcpServers,
  openMcpServers,
  type FinishedLogin,
  type McpResource,
} from "./mcp-servers.ts";
export { type CallTool, equipAgent, withRecordedOffer, namePrefix } from "./offered-tools.ts";
