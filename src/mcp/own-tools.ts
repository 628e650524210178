/** Tools that a server is given besides its own: a login, and what reads its resources and prompts. */

import { z } from "zod";
import type { AskPerson, ListedTool, McpServer, RunningCall } from "./mcp-options.ts";
import type { RunningServer } from "./mcp-server.ts";
import { namePrefix } from "./offered-tools.ts";

export const LOGIN = "login";
const nothing: ListedTool["inputSchema"] = { type: "object", properties: {} };

interface ReadingTool {
  readonly of: "resources" | "prompts";
  readonly description: string;
  readonly inputSchema: ListedTool["inputSchema"];
  readonly run: (
    connection: RunningServer,
    input: Record<string, unknown>,
    ask: AskPerson | undefined,
  ) => Promise<unknown>;
}

// Made when they are needed: each schema costs time at the start.
const resourceInput = () => z.object({ uri: z.string() });
const promptInput = () =>
  z.object({ name: z.string(), arguments: z.record(z.string(), z.string()).default({}) });

const tools: ReadonlyMap<string, ReadingTool> = new Map<string, ReadingTool>([
  [
    "list_resources",
    {
      of: "resources",
      description: "Lists the resources of the server: their URIs, and templates of URIs.",
      inputSchema: nothing,
      run: async (connection, _, ask) => asResult(await connection.resources(ask)),
    },
  ],
  [
    "read_resource",
    {
      of: "resources",
      description: "Reads a resource of the server.",
      inputSchema: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
      async run(connection, input, ask) {
        const { contents } = await connection.read(resourceInput().parse(input).uri, ask);
        const content = contents.map((resource) => ({ type: "resource", resource }));
        return { content, isError: false };
      },
    },
  ],
  [
    "list_prompts",
    {
      of: "prompts",
      description: "Lists the prompts of the server: their names and arguments.",
      inputSchema: nothing,
      run: async (connection, _, ask) => asResult(await connection.prompts(ask)),
    },
  ],
  [
    "get_prompt",
    {
      of: "prompts",
      description: "Gets a prompt of the server: instructions for a task.",
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string" },
          arguments: { type: "object", additionalProperties: { type: "string" } },
        },
        required: ["name"],
      },
      async run(connection, input, ask) {
        const { messages } = await connection.prompt(promptInput().parse(input), ask);
        return { content: messages.map(({ content }) => content), isError: false };
      },
    },
  ],
]);

/** The tools that the settings of a server give the agent. */
export function readingTools(settings: McpServer): readonly ListedTool[] {
  return [...tools].flatMap(([name, { of, description, inputSchema }]) =>
    settings[of] === true
      ? [{ name, description, inputSchema, annotations: { readOnlyHint: true } }]
      : [],
  );
}

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
  const reading = tools.get(tool);
  return reading !== undefined && settings[reading.of] === true
    ? reading.run(connection, input, ask)
    : undefined;
}
