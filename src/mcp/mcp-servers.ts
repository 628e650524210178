/** All MCP servers of a runtime, and the tools that they offer together. */

import {
  jsonObjectSchema,
  TurnlogError,
  type McpOffer,
  type OfferedTool,
  ownCopy,
  type AgentDescription,
} from "../events/index.ts";
import { toJson } from "../shared/index.ts";
import type { ListedTool } from "./mcp-connection.ts";
import type { McpServer, McpServers } from "./mcp-options.ts";
import { RunningServer } from "./mcp-server.ts";
import { hash } from "node:crypto";
import { dynamicTool, jsonSchema, type ToolSet } from "@ai-sdk/provider-utils";
import { z } from "zod";
import { prepareAgent, type Agent, type PreparedAgent } from "../agent/index.ts";
import { mcpModelOutput } from "./mcp-output.ts";

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
    if (running !== undefined) return await running.call(tool, input, { signal });
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
    // Some providers refuse an object schema without these fields.
    inputSchema: jsonObjectSchema.parse(
      toJson({
        ...inputSchema,
        properties: inputSchema.properties ?? {},
        additionalProperties: false,
      }),
    ),
    ...(readsOnly || annotations?.idempotentHint === true ? { idempotent: true } : {}),
    ...(asks ? { needsApproval: true } : {}),
  };
}

// Names of MCP tools for a model. Pure: the same tools always get the same names.

interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** Every provider accepts up to 64 letters, digits, `_` and `-`, not beginning with a digit or `-`. */
const LONGEST = 64;
const DIGEST = 8;

/**
 * `server__tool`, in order. A name that is too long, taken, or used twice ends in a digest of server and tool;
 * all tools that clash get one, so that no name depends on the order. @param taken - Names in use.
 */
function toolNames(tools: readonly NamedTool[], taken: ReadonlySet<string>): readonly string[] {
  const plain = tools.map(plainName);
  return tools.map((tool, index) => {
    const name = plain[index] ?? "";
    const isClear = plain.filter((other) => other === name).length === 1 && !taken.has(name);
    return isClear && name.length <= LONGEST ? name : withDigest(name, tool);
  });
}

export function namePrefix(server: string): string {
  return plainName({ server, tool: "" });
}

function plainName({ server, tool }: NamedTool): string {
  const name = `${server}__${tool}`.replaceAll(/[^\w-]/g, "_");
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`;
}

function withDigest(name: string, { server, tool }: NamedTool): string {
  const digest = hash("sha256", JSON.stringify([server, tool])).slice(0, DIGEST);
  return `${name.slice(0, LONGEST - DIGEST - 1)}_${digest}`;
}

// Makes tools of an agent from an offer of MCP tools, live or recorded.

interface Equipment {
  readonly tools?: ToolSet;
  readonly toolPolicies?: Readonly<Record<string, object>>;
}

/** `signal` asks the tool to stop. */
export type CallTool = (
  tool: OfferedTool,
  input: Record<string, unknown>,
  signal: AbortSignal | undefined,
) => Promise<unknown>;

const inputSchema = z.record(z.string(), z.unknown());

/** Adds the offered tools after the agent's own, which keep their names and policies. */
function withOffer<Given extends Equipment>(
  agent: Given,
  offer: McpOffer | undefined,
  call: CallTool,
): Given {
  if (offer === undefined || offer.tools.length === 0) return agent;
  const offered = offer.tools.map((tool) => [tool.name, agentTool(tool, call)] as const);
  const policies = offer.tools.flatMap(({ name, idempotent }) =>
    idempotent === true ? [[name, { idempotent }] as const] : [],
  );
  return {
    ...agent,
    tools: { ...agent.tools, ...Object.fromEntries(offered), ...agent.tools },
    toolPolicies: { ...Object.fromEntries(policies), ...agent.toolPolicies },
  };
}

/** A model sees these tools, but they cannot run. */
export function withRecordedOffer<Given extends Equipment>(
  agent: Given,
  { mcp }: AgentDescription,
): Given {
  return withOffer(agent, mcp, ({ name }) => {
    throw new TurnlogError(
      "MCP_SERVER_FAILED",
      `The tool ${name} is known from a log only: no server is asked here. The call had no effect.`,
    );
  });
}

export async function equipAgent(
  given: Agent,
  offer: McpOffer,
  call: CallTool,
): Promise<PreparedAgent> {
  const prepared = await prepareAgent(withOffer(given, offer, call));
  return { ...prepared, description: { ...prepared.description, mcp: offer } };
}

function agentTool(offered: OfferedTool, call: CallTool): ToolSet[string] {
  const { description, inputSchema: schema, needsApproval = false } = offered;
  const made = dynamicTool({
    ...(description === undefined ? {} : { description }),
    // A copy: a middleware may change the schema, and the offer is in the log.
    inputSchema: jsonSchema(ownCopy(schema)),
    execute: async (input, { abortSignal }) =>
      await call(offered, inputSchema.parse(input ?? {}), abortSignal),
    toModelOutput: ({ output }) => mcpModelOutput(output),
  });
  // Deprecated for `streamText`; this runtime runs the tools itself and reads the flag.
  // oxlint-disable-next-line typescript/no-deprecated
  return needsApproval ? { ...made, needsApproval } : made;
}
