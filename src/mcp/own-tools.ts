/** Tools that a server is given beside its own: a login, and its resources. */

import { z } from "zod";
import type { AskPerson, ListedTool, McpServer, RunningCall } from "./mcp-options.ts";
import type { RunningServer } from "./mcp-server.ts";
import { namePrefix } from "./offered-tools.ts";

export const LOGIN = "login";
const LIST_RESOURCES = "list_resources";
const READ_RESOURCE = "read_resource";

const nothing: ListedTool["inputSchema"] = { type: "object", properties: {} };
export const resourceTools: readonly ListedTool[] = [
  {
    name: LIST_RESOURCES,
    description: "Lists the resources of the server: their URIs, and templates of URIs.",
    inputSchema: nothing,
    annotations: { readOnlyHint: true },
  },
  {
    name: READ_RESOURCE,
    description: "Reads a resource of the server.",
    inputSchema: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
    annotations: { readOnlyHint: true },
  },
];

export function loginTool(server: string): ListedTool {
  const description = `Asks the user to log in at ${server}. Its tools can be called from the next message on.`;
  return { name: LOGIN, description, inputSchema: nothing, annotations: { idempotentHint: true } };
}

async function loggedIn(
  connection: RunningServer,
  server: string,
  ask: AskPerson | undefined,
): Promise<unknown> {
  const tools = await connection.tools(() => {}, ask);
  const prefix = namePrefix(server);
  const names = tools.map(({ name }) => `${prefix}${name}`).join(", ");
  return asResult(
    `The user is logged in at ${server}. From the next message on you can call: ${names}.`,
  );
}

async function contentOf(
  connection: RunningServer,
  uri: unknown,
  ask: AskPerson | undefined,
): Promise<unknown> {
  const { contents } = await connection.read(z.string().parse(uri), ask);
  return { content: contents.map((resource) => ({ type: "resource", resource })), isError: false };
}

/** As a server answers that says this. */
function asResult(said: unknown): unknown {
  const text = typeof said === "string" ? said : JSON.stringify(said);
  return { content: [{ type: "text", text }], isError: false };
}

interface OwnCall {
  readonly server: string;
  readonly settings: McpServer;
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly connection: RunningServer;
  readonly running: RunningCall;
}

/** Undefined for a tool of the server itself. */
export function callOwnTool(call: OwnCall): Promise<unknown> | undefined {
  const { server, settings, tool, input, connection, running } = call;
  const { ask } = running;
  if (tool === LOGIN && settings.login !== undefined) return loggedIn(connection, server, ask);
  if (settings.resources !== true) return undefined;
  if (tool === LIST_RESOURCES) return connection.resources(ask).then(asResult);
  return tool === READ_RESOURCE ? contentOf(connection, input["uri"], ask) : undefined;
}
