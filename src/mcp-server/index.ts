/**
 * Agents as an MCP server: each agent is a tool, and sessions are resources. Everything is asked of the server's
 * routes, here or in the process that has the store open, so that accounts, tenants and audiences hold as they do
 * there.
 */

import { z } from "zod";
import type { Runtime } from "../runtime/index.ts";
import { createServer, type ServerOptions } from "../server/index.ts";
import { optionalPackage } from "../shared/index.ts";
import { check, name, named, optionsOf, text } from "../validation/index.ts";
import type { Ask, McpTools } from "./asked-server.ts";
import type { Serving } from "./serving.ts";

type Access = "token" | "hosts" | "authorize" | "users" | "limits" | "onError" | "onRequest";

/**
 * Options of {@link mcpServer}: the tools, and who may use them, as for `createServer`. `authorize` is asked for the
 * action `list` with each request over HTTP, and then for what a client does. Default: no token, which needs
 * `authorize` or clients of this machine only.
 * @example
 * const mcp = mcpServer(runtime, {
 *   description: "Answers questions about orders.",
 *   authorize: async (request) => {
 *     const user = await userOf(request);
 *     return user === undefined ? undefined : { actor: user, where: { user } };
 *   },
 * });
 */
export interface McpServerOptions extends McpTools, Pick<ServerOptions, Access> {}

/** Serves agents to clients of the Model Context Protocol. */
interface McpServer {
  /** Answers a request over HTTP: mount it at an address of yours, such as `/mcp`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Serves one client over a transport of the protocol's library, by default over this process's standard input and
   * output. Resolves when the client is gone; its turns keep running.
   */
  readonly connect: (transport?: object) => Promise<void>;
  /** Ends all connections. The runtime is yours to close. */
  readonly close: () => Promise<void>;
}

// `createServer` checks its own.
const any = z.unknown();
const own = { name, description: text, agents: named(text) };
const access = { token: any, hosts: any, authorize: any, users: any, limits: any };
const schema = optionsOf<McpServerOptions>({ ...own, ...access, onError: any, onRequest: any }, {});

/**
 * Serves the agents of a runtime to clients of the Model Context Protocol. A call of a tool runs a turn, and its result
 * names the session, so that a later call continues it. It needs the package `@modelcontextprotocol/server`, which is
 * loaded for the first client.
 * @throws TurnlogError `INVALID_INPUT`. Requests and connections fail with `PACKAGE_MISSING`
 * @example
 * const mcp = mcpServer(runtime, { name: "clerk", description: "Answers questions about orders." });
 * export const POST = mcp.fetch; // a route of Next.js
 */
export function mcpServer(runtime: Runtime, options: McpServerOptions = {}): McpServer {
  check(schema, options, "mcpServer", { name: "options" });
  const { name: tool, description, agents, ...given } = options;
  const tools = { name: tool, description, agents };
  const server = createServer(runtime, { token: false, ...given });
  const { close, ...served } = mcpServerOver(server.fetch, tools);
  return { ...served, close: () => close().finally(server.close) };
}

/** @param ask - Sends a request to a turnlog server, in this process or another one. */
export function mcpServerOver(ask: Ask, tools: McpTools): McpServer {
  let loaded: Promise<Serving> | undefined;
  const load = async (): Promise<Serving> => new (await import("./serving.ts")).Serving(ask, tools);
  const serving = (): Promise<Serving> =>
    (loaded ??= optionalPackage("@modelcontextprotocol/server", "An agent as an MCP server", load));
  return {
    fetch: async (request) => await (await serving()).fetch(request),
    connect: async (transport) => await (await serving()).connect(transport),
    close: async () => await (await loaded)?.close(),
  };
}
