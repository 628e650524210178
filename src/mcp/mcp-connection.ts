/** One connection to an MCP server through the client of `@ai-sdk/mcp`. Loaded when a server is first needed. */

import { setTimeout as delay } from "node:timers/promises";
import {
  createMCPClient,
  MCPClientError,
  type ListToolsResult,
  type MCPClientConfig,
} from "@ai-sdk/mcp";
import { callAnswer, type CallAnswer } from "./mcp-result.ts";
import { HttpExchange } from "./http-exchange.ts";
import type { McpServer } from "./mcp-options.ts";
import { NO_ANSWER } from "./pending-requests.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type ListedTool = ListToolsResult["tools"][number];

export interface ConnectionOptions {
  readonly server: McpServer;
  /** Milliseconds for the start. */
  readonly timeoutMs: number;
  /** Milliseconds from cancelling a call until it is abandoned. */
  readonly graceMs: number;
  /** Aborted when the connection is no longer needed. */
  readonly signal: AbortSignal;
  /** Called once, when the connection is lost. */
  readonly onEnd: () => void;
  readonly onToolsChanged: () => void;
}

export interface McpConnection {
  list(timeoutMs: number): Promise<readonly ListedTool[]>;
  /** Rejects when `signal` aborts, and when there is no answer. */
  call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<CallAnswer>;
  /** The answer of the call is still awaited. */
  cancel(input: Record<string, unknown>): void;
  /** The end of the server's output that is not part of the protocol. */
  readonly lastOutput: string;
  /** Resolves when the connection is closed and a process has ended. */
  close(): Promise<void>;
}

/** Most pages of a tool list, against a server whose list never ends. */
const MOST_PAGES = 100;
const CLOSE_MS = 3000;

interface Wire {
  readonly transport: MCPClientConfig["transport"];
  readonly lastOutput: () => string;
  readonly call: <Answer>(input: object, make: () => Promise<Answer>) => Promise<Answer>;
  readonly cancel: (input: object) => void;
  /** Resolves when a process and its children have ended. */
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
      // Ignores messages without a request; an error of a call fails that call.
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
      get lastOutput() {
        return wire.lastOutput();
      },
      async close() {
        // Do not wait for a server that hangs.
        await Promise.race([client.close(), delay(CLOSE_MS, undefined, { ref: false })]);
        // The client does not wait for the end of the process.
        await wire.end();
      },
    };
  } catch (error) {
    await wire.end();
    const output = wire.lastOutput();
    if (output === "") throw error;
    throw new Error(`${messageOf(error)} It said: ${output}`, { cause: error });
  }
}

function wireTo({ server, graceMs, onEnd, onToolsChanged }: ConnectionOptions): Wire {
  if (server.command !== undefined) {
    const transport = new StdioTransport({ server, onEnd, onToolsChanged });
    return {
      transport,
      lastOutput: () => transport.lastOutput,
      call: async (input, make) => await make().finally(() => transport.forget(input)),
      cancel: (input) => transport.cancel(input),
      end: async () => await transport.close(),
    };
  }
  const { url, type = "http", headers = {} } = server;
  const exchange = new HttpExchange(type, graceMs);
  return {
    transport: { type, url, headers: { ...headers }, fetch: exchange.fetch },
    lastOutput: () => "",
    call: async (input, make) => await exchange.call(input, make),
    cancel: (input) => exchange.cancel(input),
    end: async () => {},
  };
}

/** Whether the error comes from the server, not from the transport. */
function isRefusal(error: unknown): error is MCPClientError {
  return MCPClientError.isInstance(error) && error.code !== undefined && error.code !== NO_ANSWER;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
