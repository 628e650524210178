/** One connection to an MCP server, from its start to its end, by the client of `@ai-sdk/mcp`. Loaded when a server is needed. */

import { setTimeout as delay } from "node:timers/promises";
import {
  createMCPClient,
  MCPClientError,
  validateJSONRPCMessage,
  type ListToolsResult,
} from "@ai-sdk/mcp";
import type { HttpMcpServer, McpServer } from "./mcp-options.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type ListedTool = ListToolsResult["tools"][number];

export interface ConnectionOptions {
  readonly server: McpServer;
  /** Milliseconds for the start. */
  readonly timeoutMs: number;
  /** Aborted when nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Told once, when it is of no use any more. */
  readonly onEnd: () => void;
  /** Told that the server has other tools now. */
  readonly onToolsChanged: () => void;
}

export interface McpConnection {
  /** Every tool that the server lists. */
  list(timeoutMs: number): Promise<readonly ListedTool[]>;
  /** The result as it came; rejects when `signal` aborts. */
  call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
  /** Asks the server to stop the call with this very input; what it says to that is the call's answer. */
  cancel(input: Record<string, unknown>): void;
  /** The end of what the server said beside the protocol. */
  readonly lastWords: string;
  /** Resolves when it is closed and, of a process, gone. */
  close(): Promise<void>;
}

/** Pages of tools that are read: a server that always has one more does not keep us for ever. */
const MOST_PAGES = 100;
const CLOSE_MS = 3000;

/** @throws what the start failed with; of a process nothing is left then. */
export async function connect(options: ConnectionOptions): Promise<McpConnection> {
  const { server, timeoutMs, signal, onEnd, onToolsChanged } = options;
  const stdio =
    "command" in server
      ? new StdioTransport({ server, parse: validateJSONRPCMessage, onEnd, onToolsChanged })
      : undefined;
  const words = (): string => stdio?.lastWords ?? "";
  try {
    const client = await createMCPClient({
      transport: stdio ?? httpTransport(server),
      clientName: "turnlog",
      initializationOptions: { timeout: timeoutMs, signal },
      // Messages that answer nothing; what concerns a call fails that call.
      onUncaughtError: () => {},
    });
    return {
      async list(timeout) {
        const tools: ListedTool[] = [];
        let cursor: string | undefined;
        for (let page = 0; page < MOST_PAGES; page++) {
          const params = cursor === undefined ? {} : { params: { cursor } };
          const listed = await client.listTools({ ...params, options: { timeout } });
          tools.push(...listed.tools);
          cursor = listed.nextCursor;
          if (cursor === undefined) break;
        }
        return tools;
      },
      call: async (name, input, aborted) =>
        await client.callTool({ name, arguments: input, options: { signal: aborted } }),
      cancel: (input) => stdio?.cancel(input),
      get lastWords() {
        return words();
      },
      async close() {
        // A server that hangs is not waited for.
        await Promise.race([client.close(), delay(CLOSE_MS, undefined, { ref: false })]);
        // The client does not wait for a process that has closed by itself.
        await stdio?.close();
      },
    };
  } catch (error) {
    await stdio?.close();
    const said = words();
    if (said === "") throw error;
    throw new Error(`${messageOf(error)} It said: ${said}`, { cause: error });
  }
}

function httpTransport(server: McpServer) {
  const { url, type = "http", headers = {} } = httpServer(server);
  return { type, url, headers: { ...headers } };
}

function httpServer(server: McpServer): HttpMcpServer {
  if ("url" in server) return server;
  throw new TypeError("A server has a command or a url.");
}

/** Whether the server itself has refused: it lives, and only this request was wrong. */
export function isRefusal(error: unknown): boolean {
  return MCPClientError.isInstance(error) && error.code !== undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
