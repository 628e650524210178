/** The protocol's own library over the routes of a server: connections, HTTP, tools and resources. Loaded for the first client. */

import {
  createMcpHandler,
  McpServer,
  type McpHttpHandler,
  type McpServerFactory,
  type Transport,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
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
import { TurnlogError } from "../events/index.ts";
import type { SessionMessage } from "../ui/index.ts";

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
  "Each tool asks an agent, which keeps its conversation in a session. A result names its session: pass it to continue the conversation. A call with a session and no message waits for the reply that runs there, or returns the last one: nothing is asked twice.";

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

// Sessions as resources: listed with their titles, and read as a conversation in Markdown.

const BASE = "turnlog://sessions/";
const MOST_MESSAGES = 500;
const mimeType = "text/markdown";

export function addSessions({ server }: McpServer, client: () => Client): void {
  server.setRequestHandler("resources/list", async ({ params }) => {
    const after = params?.cursor === undefined ? {} : { after: params.cursor };
    const { sessions, next } = await asked(client().sessions({ limit: 100, ...after }));
    const resources = sessions.map(({ session, title, updatedAt }) => ({
      uri: BASE + encodeURIComponent(session),
      name: session,
      ...(title !== undefined && { title }),
      mimeType,
      annotations: { lastModified: new Date(updatedAt).toISOString() },
    }));
    return { resources, ...(next !== undefined && { nextCursor: next }) };
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: `${BASE}{session}`, name: "session", mimeType }],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const read = async () =>
      await client().session(sessionIn(uri)).messages({ limit: MOST_MESSAGES });
    const { messages, more, position } = await asked(read(), uri);
    if (position === 0) throw new ResourceNotFoundError(uri);
    const earlier = more ? ["Earlier messages are left out."] : [];
    const text = [...earlier, ...messages.map(inMarkdown)].join("\n\n");
    return { contents: [{ uri, mimeType, text }] };
  });
}

function sessionIn(uri: string): string {
  try {
    if (uri.startsWith(BASE)) return decodeURIComponent(uri.slice(BASE.length));
  } catch {
    // What cannot be decoded is the name of nothing.
  }
  throw new ResourceNotFoundError(uri);
}

/** @throws ProtocolError for what the routes refused */
async function asked<Answer>(answer: Promise<Answer>, uri = ""): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    if (/^SESSION_(?:NOT_FOUND|DELETED)$/.test(error.code)) throw new ResourceNotFoundError(uri);
    const { InvalidParams, InternalError } = ProtocolErrorCode;
    const code = error.code === "INVALID_INPUT" ? InvalidParams : InternalError;
    throw new ProtocolError(code, error.message, { code: error.code });
  }
}

/** Of a call that is neither over nor waits, its model or its tool is at work. */
const callWords: Readonly<Record<string, string>> = {
  "approval-requested": "Waits for a person who allows",
  "output-available": "Called",
  "output-denied": "Was not allowed to call",
  "output-error": "Failed to call",
};

function inMarkdown({ role, parts, metadata }: SessionMessage): string {
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "steering-message") return inMarkdown({ ...part, role: "user" });
    if (part.type === "file") return `[${part.filename ?? part.mediaType}]`;
    if (!("toolCallId" in part)) return "";
    const tool = "toolName" in part ? part.toolName : part.type.replace("tool-", "");
    return `*${callWords[part.state] ?? "Calls"} ${tool}.*`;
  });
  const all = [`## ${role === "user" ? "User" : "Agent"}`, ...texts, metadata?.error ?? ""];
  return all.filter((one) => one !== "").join("\n\n");
}
