/** What an MCP client asks for: agents as tools, and the routes of a turnlog server in its name. Without the library of the protocol, which is optional. */

/** Which tools there are. */
export interface McpTools {
  /** The name of the tool, in a runtime with one agent. Default: `agent`. */
  readonly name?: string | undefined;
  /** What the agent is for: a client's model chooses the tool by it. */
  readonly description?: string | undefined;
  /** In a runtime with several agents: what each is for, by its name. Each is a tool. */
  readonly agents?: Readonly<Record<string, string>> | undefined;
}

/** Sends a request to a turnlog server. */
export type Ask = (request: Request) => Promise<Response>;

/** What a request says about itself, and not about who sends it. */
const aboutItself = /^(?:content-|accept|transfer-|connection$|keep-alive$|mcp-|last-event-id$)/;

/**
 * Sends requests with headers of the MCP client's request, so that the routes see its login, host and origin. A client
 * on a pipe sends no headers.
 */
export function inNameOf(asking: Request | undefined, ask: Ask): Ask {
  return async (request) => {
    for (const [name, value] of asking?.headers ?? [])
      if (!aboutItself.test(name)) request.headers.set(name, value);
    return await ask(request);
  };
}
