/**
 * Agents for the clients of other protocols. `mcpServer` needs the package `@modelcontextprotocol/server`.
 *
 * @example
 * import { createRuntime } from "turnlog";
 * import { mcpServer } from "turnlog/protocols";
 *
 * const runtime = await createRuntime({ dir: ".turnlog", agent });
 * const mcp = mcpServer(runtime, { name: "clerk", description: "Answers questions about orders." });
 * export const POST = mcp.fetch;
 */

export { mcpServer } from "../mcp-server/index.ts";
