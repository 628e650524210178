/** What an MCP client asks for: agents as tools, and the routes of a turnlog server in its name. */

import { createClient, type Client } from "../client/index.ts";

/** Which tools there are. */
export interface McpTools {
  /** The name of the tool, in a runtime with one agent. Default: `agent`. */
  readonly name?: string;
  /** What the agent is for: a client's model chooses the tool by it. */
  readonly description?: string;
  /** In a runtime with several agents: what each is for, by its name. Each is a tool. */
  readonly agents?: Readonly<Record<string, string>>;
}

/** Sends a request to a turnlog server. */
export type Ask = (request: Request) => Promise<Response>;

/** What a request says about itself, and not about who sends it. */
const aboutItself = /^(?:content-|accept|transfer-|connection$|keep-alive$|mcp-|last-event-id$)/;

/**
 * A client of the routes whose requests have the headers of a request of the MCP client: its login, the host by which
 * it came and the page that sent it. Over a pipe there is none.
 */
export function clientFor(ask: Ask, asking: Request | undefined): Client {
  return createClient({
    baseUrl: asking === undefined ? "http://localhost" : new URL(asking.url).origin,
    fetch: async (request) => {
      for (const [name, value] of asking?.headers ?? [])
        if (!aboutItself.test(name)) request.headers.set(name, value);
      return await ask(request);
    },
  });
}
