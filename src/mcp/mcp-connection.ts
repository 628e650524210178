/** One connection to an MCP server, from its start to its end, by the client of `@ai-sdk/mcp`. Loaded when a server is needed. */

import { setTimeout as delay } from "node:timers/promises";
import {
  createMCPClient,
  MCPClientError,
  type ListToolsResult,
  type MCPClientConfig,
} from "@ai-sdk/mcp";
import { callAnswer, type CallAnswer } from "./call-answer.ts";
import { HttpExchange } from "./http-exchange.ts";
import type { McpServer } from "./mcp-options.ts";
import { NO_ANSWER } from "./pending-requests.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type ListedTool = ListToolsResult["tools"][number];

export interface ConnectionOptions {
  readonly server: McpServer;
  /** Milliseconds for the start. */
  readonly timeoutMs: number;
  /** Milliseconds between telling a server to stop a call and leaving it behind. */
  readonly graceMs: number;
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
  /** Rejects when `signal` aborts, and where there is no answer. */
  call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<CallAnswer>;
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

/** What the two ways to a server do each in their own manner. */
interface Wire {
  readonly transport: MCPClientConfig["transport"];
  readonly lastWords: () => string;
  readonly call: <Answer>(input: object, make: () => Promise<Answer>) => Promise<Answer>;
  readonly cancel: (input: object) => void;
  /** Resolves when nothing is left of it. */
  readonly end: () => Promise<void>;
}

/** @throws what the start failed with; of a process nothing is left then. */
export async function connect(options: ConnectionOptions): Promise<McpConnection> {
  const { timeoutMs, signal } = options;
  const wire = wireTo(options);
  try {
    const client = await createMCPClient({
      transport: wire.transport,
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
      async call(name, input, aborted) {
        const request = { name, arguments: input, options: { signal: aborted } };
        try {
          const answer = await wire.call(input, async () => await client.callTool(request));
          return callAnswer(answer["toolResult"]);
        } catch (error) {
          if (isRefusal(error)) return { kind: "refused", why: error.message };
          throw error;
        }
      },
      cancel: wire.cancel,
      get lastWords() {
        return wire.lastWords();
      },
      async close() {
        // A server that hangs is not waited for.
        await Promise.race([client.close(), delay(CLOSE_MS, undefined, { ref: false })]);
        // The client does not wait for a process that has closed by itself.
        await wire.end();
      },
    };
  } catch (error) {
    await wire.end();
    const said = wire.lastWords();
    if (said === "") throw error;
    throw new Error(`${messageOf(error)} It said: ${said}`, { cause: error });
  }
}

function wireTo({ server, graceMs, onEnd, onToolsChanged }: ConnectionOptions): Wire {
  if (server.command !== undefined) {
    const transport = new StdioTransport({ server, onEnd, onToolsChanged });
    return {
      transport,
      lastWords: () => transport.lastWords,
      call: async (_, make) => await make(),
      cancel: (input) => transport.cancel(input),
      end: async () => await transport.close(),
    };
  }
  const { url, type = "http", headers = {} } = server;
  const exchange = new HttpExchange(type, graceMs);
  return {
    transport: { type, url, headers: { ...headers }, fetch: exchange.fetch },
    lastWords: () => "",
    call: async (input, make) => await exchange.call(input, make),
    cancel: (input) => exchange.cancel(input),
    end: async () => {},
  };
}

/** Whether it is the server's own word. */
function isRefusal(error: unknown): error is MCPClientError {
  return MCPClientError.isInstance(error) && error.code !== undefined && error.code !== NO_ANSWER;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
