/** All MCP servers of a runtime, and the tools that they offer together. */

import {
  jsonObjectSchema,
  TurnlogError,
  type McpOffer,
  type OfferedTool,
} from "../events/index.ts";
import { toJson } from "../shared/index.ts";
import type { ListedTool } from "./mcp-connection.ts";
import type { McpServer, McpServers } from "./mcp-options.ts";
import { RunningServer } from "./mcp-server.ts";
import type { CallTool } from "./mcp-tools.ts";
import { toolNames } from "./tool-names.ts";

export interface McpSurroundings {
  /** Names of agents' own tools, which server tools must not use. */
  readonly taken: ReadonlySet<string>;
  /** Called for a failed server when no call fails with it. */
  readonly onWarning: (error: TurnlogError) => void;
  readonly clock: () => number;
  /** Milliseconds from cancelling a call until it is abandoned. */
  readonly graceMs?: number;
}

/** Undefined without servers. */
export function openMcpServers(
  mcp: McpServers = {},
  around: McpSurroundings,
): OpenMcpServers | undefined {
  return Object.keys(mcp).length === 0 ? undefined : new OpenMcpServers(mcp, around);
}

interface Listed {
  readonly server: string;
  readonly settings: McpServer;
  readonly tool: ListedTool;
}

export class OpenMcpServers {
  readonly #servers: ReadonlyMap<string, RunningServer>;
  readonly #settings: McpServers;
  readonly #around: McpSurroundings;
  #missing: ReadonlySet<string> = new Set();

  constructor(servers: McpServers, around: McpSurroundings) {
    this.#settings = servers;
    this.#around = around;
    this.#servers = new Map(
      Object.entries(servers).map(([name, server]) => [
        name,
        new RunningServer(name, server, around.clock, around.graceMs),
      ]),
    );
  }

  /** Starts servers that do not run; warns once about each that cannot be started. */
  async offer(): Promise<McpOffer> {
    const { onWarning, taken } = this.#around;
    const answers = await Promise.all(
      [...this.#servers].map(async ([name, server]) => {
        try {
          return { name, tools: await server.tools(onWarning) };
        } catch (error) {
          return { name, error };
        }
      }),
    );
    const missing = answers.filter((answer) => "error" in answer);
    for (const { name, error } of missing) {
      if (!TurnlogError.isInstance(error)) throw error;
      if (!this.#missing.has(name)) onWarning(error);
    }
    this.#missing = new Set(missing.map(({ name }) => name));
    const listed = answers.flatMap(({ name, tools = [] }) => this.#listed(name, tools));
    const names = toolNames(
      listed.map(({ server, tool }) => ({ server, tool: tool.name })),
      taken,
    );
    return {
      tools: listed.map((one, index) => offered(one, names[index] ?? "")),
      missing: [...this.#missing],
    };
  }

  readonly call: CallTool = async ({ server, tool, name }, input, signal) => {
    const running = this.#servers.get(server);
    if (running !== undefined) return await running.call(tool, input, signal);
    throw new TurnlogError(
      "MCP_SERVER_FAILED",
      `The tool ${name} is of the MCP server ${server}, which this runtime does not have. The call had no effect.`,
      { details: { server, trouble: "not-started" } },
    );
  };

  /** Resolves when their processes have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(async (server) => await server.close()));
  }

  /** The tools of one server; the first of tools with the same name. */
  #listed(server: string, tools: readonly ListedTool[]): readonly Listed[] {
    const settings = this.#settings[server];
    if (settings === undefined) return [];
    const first = new Map(tools.toReversed().map((tool) => [tool.name, tool]));
    return tools
      .filter((tool) => first.get(tool.name) === tool)
      .map((tool) => ({ server, settings, tool }));
  }
}

function offered({ server, settings, tool }: Listed, name: string): OfferedTool {
  const { description, annotations, inputSchema } = tool;
  const readsOnly = annotations?.readOnlyHint === true;
  const { needsApproval = false } = settings;
  const asks = needsApproval === "unless-read-only" ? !readsOnly : needsApproval;
  return {
    name,
    server,
    tool: tool.name,
    ...(description === undefined ? {} : { description }),
    // As in `@ai-sdk/mcp`: some providers refuse an object schema without these fields.
    inputSchema: jsonObjectSchema.parse(
      toJson({
        type: "object",
        ...inputSchema,
        properties: inputSchema.properties ?? {},
        additionalProperties: false,
      }),
    ),
    ...(readsOnly || annotations?.idempotentHint === true ? { idempotent: true } : {}),
    ...(asks ? { needsApproval: true } : {}),
  };
}
