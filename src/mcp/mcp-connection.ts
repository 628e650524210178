/** One connection to an MCP server through the protocol's own client. Loaded when a server is first needed. */

import { setTimeout as delay } from "node:timers/promises";
import {
  Client,
  ProtocolError,
  SdkHttpError,
  UnauthorizedError,
  type ListToolsResult,
  type Progress,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { hasCode } from "../events/index.ts";
import { firstAbort, LONGEST_TIMEOUT_MS, unlessAborted } from "../shared/index.ts";
import { callAnswer, NotRun, type CallAnswer } from "./mcp-result.ts";
import { HttpTransport } from "./http-transport.ts";
import type { McpServer } from "./mcp-options.ts";
import { NO_ANSWER } from "./pending-requests.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type ListedTool = ListToolsResult["tools"][number];

export interface ConnectionOptions {
  readonly server: McpServer;
  /** Milliseconds for the start. */
  readonly timeoutMs: number;
  /** Aborted when the connection is no longer needed. */
  readonly signal: AbortSignal;
  /** Called once, when the connection is lost. */
  readonly onEnd: () => void;
  readonly onToolsChanged: () => void;
}

export interface McpCall {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly onProgress: (progress: Progress) => void;
}

export interface McpConnection {
  list(timeoutMs: number): Promise<readonly ListedTool[]>;
  /** Rejects when it is abandoned, and when there is no answer. */
  call(call: McpCall): Promise<CallAnswer>;
  /** The answer of the call is still awaited. */
  cancel(input: Record<string, unknown>): void;
  abandon(input: Record<string, unknown>, why: string): void;
  /** The end of the server's output that is not part of the protocol. */
  readonly lastOutput: string;
  /** Resolves when the connection is closed and a process has ended. */
  close(): Promise<void>;
}

/** Most pages of a list, against a server whose list never ends. */
const MOST_PAGES = 100;
const CLOSE_MS = 3000;
/** Milliseconds until a process that does not answer the first question is taken for one of an earlier version. */
const PROBE_MS = 1000;

/** @throws what the start failed with; of a process nothing is left then. */
export async function connect(options: ConnectionOptions): Promise<McpConnection> {
  const { server, timeoutMs, signal, onToolsChanged } = options;
  const wire = wireTo(options);
  const client = new Client(
    { name: "turnlog", version: "1.0.0" },
    {
      listMaxPages: MOST_PAGES,
      versionNegotiation: {
        mode: "auto",
        probe: { timeoutMs: server.command === undefined ? timeoutMs : PROBE_MS },
      },
    },
  );
  client.setNotificationHandler("notifications/tools/list_changed", onToolsChanged);
  using given = firstAbort(signal, AbortSignal.timeout(timeoutMs));
  const close = async (): Promise<void> => {
    // Do not wait for a server that hangs.
    await Promise.race([client.close(), delay(CLOSE_MS, undefined, { ref: false })]);
    await wire.close();
  };
  try {
    const starting = client.connect(wire, { timeout: timeoutMs });
    await unlessAborted(starting, given.signal);
  } catch (error) {
    await close();
    const output = wire.lastOutput;
    if (output === "") throw error;
    throw new Error(`${messageOf(error)} It said: ${output}`, { cause: error });
  }
  if (client.getProtocolEra() === "modern" && server.command !== undefined)
    client.listen({ toolsListChanged: true }).catch(() => {});
  return {
    async list(timeout) {
      if (client.getServerCapabilities()?.tools === undefined) return [];
      try {
        return (await client.listTools(undefined, { timeout, cacheMode: "refresh" })).tools;
      } catch (error) {
        throw readable(error, wire.sessionId);
      }
    },
    async call({ tool, input, onProgress }) {
      try {
        const { structuredContent } = await client.callTool(
          { name: tool, arguments: input },
          { timeout: LONGEST_TIMEOUT_MS, onprogress: onProgress },
        );
        return callAnswer(passedSchema.parse(structuredContent).answer);
      } catch (error) {
        if (error instanceof ProtocolError && error.code !== NO_ANSWER)
          return { kind: "refused", why: error.message };
        throw readable(error, wire.sessionId);
      }
    },
    cancel: (input) => wire.cancel(input),
    abandon: (input, why) => wire.abandon(input, why),
    get lastOutput() {
      return wire.lastOutput;
    },
    close,
  };
}

const passedSchema = z.object({ answer: z.unknown() });

function readable(error: unknown, session: string | undefined): unknown {
  if (isUnreachable(error)) return new NotRun(error, "unreachable");
  if (error instanceof UnauthorizedError) return new NotRun(error, "refused");
  if (!(error instanceof SdkHttpError) || ![401, 403, 404].includes(error.status)) return error;
  const isExpired = error.status === 404 && session !== undefined;
  return new NotRun(error, isExpired ? "expired" : "refused");
}

/** Whether no connection was made. */
function isUnreachable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return hasCode(error.cause, "ECONNREFUSED") || hasCode(error.cause, "ENOTFOUND");
}

function wireTo({ server, onEnd }: ConnectionOptions): StdioTransport | HttpTransport {
  if (server.command !== undefined) return new StdioTransport({ server, onEnd });
  const { url, type, headers = {} } = server;
  return new HttpTransport({ url, type, headers: async () => headers, onEnd });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
