/** Settings of MCP servers: the common `mcpServers` format, with additional settings of turnlog. */

interface ServerSettings {
  /** Milliseconds for starting the server and listing its tools. Default: 30,000. */
  readonly startTimeoutMs?: number;
  /** Milliseconds for a call. Default: 60,000. */
  readonly callTimeoutMs?: number;
  /** Require approval for calls: none (default), all, or all except tools that the server declares read-only. */
  readonly needsApproval?: boolean | "unless-read-only";
}

/** A server that runs as a child process and communicates over stdin and stdout. */
export interface StdioMcpServer extends ServerSettings {
  readonly command: string;
  readonly args?: readonly string[];
  /** Environment in addition to basic variables (`PATH`, `HOME`, …). No other variable is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface HttpMcpServer extends ServerSettings {
  readonly url: string;
  /** `http` (default): streamable HTTP; `sse`: the older transport. */
  readonly type?: "http" | "sse";
  readonly headers?: Readonly<Record<string, string>>;
}

export type McpServer = Only<StdioMcpServer, HttpMcpServer> | Only<HttpMcpServer, StdioMcpServer>;

/** One of two types, without the keys that only the other has. */
type Only<One, Other> = One & { readonly [Key in Exclude<keyof Other, keyof One>]?: never };

/**
 * Servers by the names that prefix their tools.
 * @example
 * const mcp: RuntimeOptions["mcp"] = { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } };
 * const runtime = await createRuntime({ dir, agent, mcp });
 */
export type McpServers = Readonly<Record<string, McpServer>>;

export const DEFAULT_START_TIMEOUT_MS = 30_000;
export const DEFAULT_CALL_TIMEOUT_MS = 60_000;
