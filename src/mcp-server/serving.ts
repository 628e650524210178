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
import { createClient, type Client } from "../client/index.ts";
import { inNameOf, type Ask, type McpTools } from "./asked-server.ts";
import { callAgent, callInput as inputSchema, callOutput as outputSchema } from "./call-agent.ts";
import { addSessions } from "./session-resources.ts";

const transportSchema = z.custom<Transport>();

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

  async fetch(request: Request): Promise<Response> {
    // A client that may not use the server gets the answer with which the routes refuse it.
    const asked = new Request(new URL("/api/sessions?limit=1", request.url));
    const known = await inNameOf(request, this.#ask)(asked);
    if (!known.ok) return known;
    await known.body?.cancel();
    return await this.#handler.fetch(request);
  }

  async connect(given: object = new StdioServerTransport()): Promise<void> {
    const transport = transportSchema.parse(given);
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const handle = serveStdio(this.#factory, { transport });
    const { onclose: ended } = transport;
    const onclose = (): void => {
      ended?.();
      resolve();
    };
    this.#connections.add(handle);
    Object.assign(transport, { onclose });
    await gone;
    this.#connections.delete(handle);
  }

  async close(): Promise<void> {
    await Promise.all([this.#handler, ...this.#connections].map((one) => one.close()));
  }
}

const capabilities = { tools: { listChanged: false }, resources: { listChanged: false } };
const instructions =
  "Each tool asks an agent, which keeps its conversation in a session. A result names its session: pass it to go on with the conversation. A call with a session and no message waits for the reply that runs there, or returns the last one: nothing is asked twice.";

function factoryOf(ask: Ask, { name = "agent", description, agents }: McpTools): McpServerFactory {
  const tools = Object.entries(agents ?? { [name]: description ?? "Asks the agent." });
  return ({ requestInfo, era }) => {
    const mcp = new McpServer(
      { name: "turnlog", version: "1.0.0" },
      { capabilities, instructions },
    );
    const client = (): Client =>
      createClient({
        baseUrl: requestInfo === undefined ? "http://localhost" : new URL(requestInfo.url).origin,
        fetch: inNameOf(requestInfo, ask),
      });
    for (const [tool, about] of tools)
      mcp.registerTool(
        tool,
        { description: about, inputSchema, outputSchema },
        async (input, { mcpReq: request, http }) =>
          await callAgent(input, {
            client: client(),
            agent: agents === undefined ? undefined : tool,
            // oxlint-disable-next-line typescript/no-deprecated
            capabilities: era === "legacy" ? mcp.server.getClientCapabilities() : undefined,
            request,
            // A pipe that is closed may be one that broke; over HTTP, closing a request is the way to cancel it.
            endsByLeaving: era === "modern" && http !== undefined,
          }),
      );
    addSessions(mcp, client);
    return mcp;
  };
}
