/** MCP servers as a user names them: the shape of the `mcpServers` that other tools read, and our own settings beside it. */

interface ServerSettings {
  /** Milliseconds that starting it and asking for its tools may take. Default 30,000. */
  readonly startTimeoutMs?: number;
  /** Milliseconds after which a call is given up. Default 60,000. */
  readonly callTimeoutMs?: number;
  /**
   * Whether calls of its tools need a person's approval: none (default), all, or all but those of
   * tools that only read, as the server says.
   */
  readonly needsApproval?: boolean | "unless-read-only";
}

/** A server that is a process of ours and speaks over its stdin and stdout. */
export interface StdioMcpServer extends ServerSettings {
  readonly command: string;
  readonly args?: readonly string[];
  /** Beside what a shell has of its own (`PATH`, `HOME`, …): nothing else of ours is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server that is reached over HTTP. */
export interface HttpMcpServer extends ServerSettings {
  readonly url: string;
  /** Default `http`, the streamable one; `sse` is the older way. */
  readonly type?: "http" | "sse";
  readonly headers?: Readonly<Record<string, string>>;
}

/** An MCP server: a program that is started, or an address. */
export type McpServer = Only<StdioMcpServer, HttpMcpServer> | Only<HttpMcpServer, StdioMcpServer>;

/** One of two shapes, without a key that the other alone has. */
type Only<One, Other> = One & { readonly [Key in Exclude<keyof Other, keyof One>]?: never };

/** By the name that their tools bear before their own. */
export type McpServers = Readonly<Record<string, McpServer>>;

export const DEFAULT_START_TIMEOUT_MS = 30_000;
export const DEFAULT_CALL_TIMEOUT_MS = 60_000;
