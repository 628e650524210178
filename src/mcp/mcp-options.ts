/** Settings of MCP servers: the common `mcpServers` format, with additional settings of turnlog. */

import type { PersonAnswer } from "../agent/index.ts";
import type { CallQuestion } from "../events/index.ts";

interface ServerSettings {
  /** Milliseconds for starting the server and listing its tools. Default: 30,000. */
  readonly startTimeoutMs?: number;
  /** Milliseconds for a call. Default: 60,000. */
  readonly callTimeoutMs?: number;
  /** Require approval for calls: none (default), all, or all except tools that the server declares read-only. */
  readonly needsApproval?: boolean | "unless-read-only";
  /** Give the agent tools that list and read the server's resources. Default false. */
  readonly resources?: boolean;
  /** Give the agent tools that list and get the server's prompts. Default false. */
  readonly prompts?: boolean;
}

/** The turn that uses a server. */
export interface McpTurn {
  readonly session: string;
  /** As `prepareStep` and approvals get it. */
  readonly runtimeContext?: Readonly<Record<string, unknown>>;
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
  /** Asked for each request if it is a function. */
  readonly headers?: Headers | ((account: string | undefined) => Headers | Promise<Headers>);
  /**
   * Whose connection a turn uses, such as that of its user: each account has its own, with its own login. Their
   * tools must be the same. Default: one for all.
   */
  readonly account?: (turn: McpTurn) => string | undefined;
  /** For a server that asks its users to log in (OAuth 2.1). */
  readonly login?: McpLogin;
  /** Milliseconds until an unused connection is closed. Default: 600,000. */
  readonly idleTimeoutMs?: number;
  /** Most connections at a time, one for each account. Default: 100. */
  readonly maxConnections?: number;
}

type Headers = Readonly<Record<string, string>>;

/** How the program logs in at a server in the name of an account. */
export interface McpLogin {
  /** The address of your callback route, which passes its query to `finishLogin`. */
  readonly redirectUrl: string;
  /** As registered at the server. Default: it is registered with the first login. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
  /** Where tokens are kept, such as `masterKeys(folderKeys("../tokens"), { current })`. Default: in memory. */
  readonly tokens?: TokenStore;
}

/** Texts by names of letters, digits and `-`. Every `KeyStore` is one. */
export interface TokenStore {
  load(name: string): Promise<string | undefined>;
  save(name: string, text: string): Promise<void>;
}

/** Asks a person for a call. Throws where the answer comes later: then the call runs again with it. */
export type AskPerson = (question: CallQuestion) => PersonAnswer | Promise<PersonAnswer>;

// What the published types name of a server's answers: not by the client's types, which a program may not have.

export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: {
    readonly type: "object";
    readonly properties?: object | undefined;
    readonly required?: readonly string[] | undefined;
  };
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined;
}

export interface CallProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface ResourceContent {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
}

export interface RunningCall {
  /** Asks the server to stop; the answer is still awaited. */
  readonly signal?: AbortSignal | undefined;
  /** The turn that calls: a question of the server is asked in its session. */
  readonly turn?: McpTurn | undefined;
  /** The same for each attempt of a call. */
  readonly id?: string | undefined;
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
  /** Without it, a server gets no answer from a person, and a login fails the call. */
  readonly ask?: AskPerson | undefined;
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
export const DEFAULT_IDLE_TIMEOUT_MS = 600_000;
export const DEFAULT_MAX_CONNECTIONS = 100;
