/** The protocol's own library over the routes of a server: connections, HTTP, tools and resources. Loaded for the first client. */

import {
  createMcpHandler,
  McpServer,
  type McpHttpHandler,
  type McpServerFactory,
  type Transport,
} from "@modelcontextprotocol/server";
import {
  serveStdio,
  StdioServerTransport,
  type StdioServerHandle,
} from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { callAgent, callInput, callOutput } from "./call-agent.ts";
import { clientFor, type Ask, type McpTools } from "./asked-server.ts";
import { addSessions } from "./session-resources.ts";

const transportSchema = z.custom<Transport>();

const ABOUT_TOOLS =
  "Each tool asks an agent, which keeps its conversation in a session. A result names its session: pass it to go on with the conversation. A call with a session and no message waits for the reply that runs there, or returns the last one: nothing is asked twice.";

export class Serving {
  readonly #ask: Ask;
  readonly #factory: McpServerFactory;
  readonly #handler: McpHttpHandler;
  readonly #connections = new Set<StdioServerHandle>();

  constructor(ask: Ask, tools: McpTools) {
    this.#ask = ask;
    this.#factory = factoryOf(ask, tools);
    this.#handler = createMcpHandler(this.#factory);
  }

  /** An MCP client that is nobody here gets the refusal of the routes. */
  async fetch(request: Request): Promise<Response> {
    const asked = { path: "/api/sessions", query: { limit: 1 } };
    let refusal: Response | undefined;
    const ask: Ask = async (one) => {
      const answer = await this.#ask(one);
      if (!answer.ok) refusal = answer.clone();
      return answer;
    };
    try {
      await clientFor(ask, request).http.json(asked);
    } catch (error) {
      if (refusal === undefined) throw error;
      return refusal;
    }
    return await this.#handler.fetch(request);
  }

  async connect(given?: object): Promise<void> {
    const transport =
      given === undefined ? new StdioServerTransport() : transportSchema.parse(given);
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const handle = serveStdio(this.#factory, { transport });
    const { onclose } = transport;
    const onClose = (): void => {
      onclose?.();
      resolve();
    };
    Object.assign(transport, { onclose: onClose });
    this.#connections.add(handle);
    await gone;
    this.#connections.delete(handle);
  }

  async close(): Promise<void> {
    await Promise.all([this.#handler, ...this.#connections].map((one) => one.close()));
  }
}

function factoryOf(ask: Ask, { name = "agent", description, agents }: McpTools): McpServerFactory {
  const tools =
    agents === undefined
      ? [{ name, description, agent: undefined }]
      : Object.entries(agents).map(([agent, about]) => ({
          name: agent,
          description: about,
          agent,
        }));
  return ({ requestInfo, era }) => {
    const mcp = new McpServer(
      { name: "turnlog", version: "1.0.0" },
      {
        capabilities: { tools: { listChanged: false }, resources: { listChanged: false } },
        instructions: ABOUT_TOOLS,
      },
    );
    for (const { name: tool, description: about = "Asks the agent.", agent } of tools)
      mcp.registerTool(
        tool,
        { description: about, inputSchema: callInput, outputSchema: callOutput },
        async (input, { mcpReq: request, http }) =>
          await callAgent(input, {
            client: clientFor(ask, requestInfo),
            agent,
            // oxlint-disable-next-line typescript/no-deprecated
            capabilities: era === "legacy" ? mcp.server.getClientCapabilities() : undefined,
            request,
            // A pipe that is closed may be one that broke; over HTTP, closing a request is the way to cancel it.
            endsByLeaving: era === "modern" && http !== undefined,
          }),
      );
    addSessions(mcp, () => clientFor(ask, requestInfo));
    return mcp;
  };
}
