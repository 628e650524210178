/** Tools of servers as an agent has them: their names for a model, and what runs them. From a live or a recorded offer. */

import { hash } from "node:crypto";
import { dynamicTool, jsonSchema, type ToolSet } from "@ai-sdk/provider-utils";
import { z } from "zod";
import {
  jsonObjectSchema,
  TurnlogError,
  type McpOffer,
  type OfferedTool,
  ownCopy,
  type AgentDescription,
} from "../events/index.ts";
import { toJson } from "../shared/index.ts";
import { prepareAgent, type Agent, type PreparedAgent } from "../agent/index.ts";
import type { AskPerson, ListedTool, McpServer, RunningCall } from "./mcp-options.ts";
import { mcpModelOutput } from "./mcp-output.ts";

interface Listed {
  readonly server: string;
  readonly settings: Pick<McpServer, "needsApproval"> | undefined;
  readonly tool: ListedTool;
}

/** The tools for a model; of tools of one server with the same name, the first. */
export function offerOf(
  listed: readonly Listed[],
  taken: ReadonlySet<string>,
): readonly OfferedTool[] {
  const first = new Map(
    listed.toReversed().map((one) => [JSON.stringify([one.server, one.tool.name]), one]),
  );
  const kept = listed.filter((one) => [...first.values()].includes(one));
  const names = toolNames(
    kept.map(({ server, tool }) => ({ server, tool: tool.name })),
    taken,
  );
  return kept.map((one, index) => offered(one, names[index] ?? ""));
}

function offered({ server, settings = {}, tool }: Listed, name: string): OfferedTool {
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

export type CallTool = (
  tool: OfferedTool,
  input: Record<string, unknown>,
  running?: RunningCall,
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
    execute: async (input, options) =>
      await call(offered, inputSchema.parse(input ?? {}), toolRun(options)),
    toModelOutput: ({ output }) => mcpModelOutput(output),
  });
  // Deprecated for `streamText`; this runtime runs the tools itself and reads the flag.
  // oxlint-disable-next-line typescript/no-deprecated
  return needsApproval ? { ...made, needsApproval } : made;
}

/** What the runtime tells a tool of its call, besides the AI SDK's options. */
const surroundingsSchema = z.object({
  turnlog: z.object({
    session: z.string(),
    effectId: z.string(),
    runtimeContext: z.record(z.string(), z.unknown()).optional(),
    ask: z.custom<AskPerson>((value) => typeof value === "function").optional(),
    onProgress: z
      .custom<(output: unknown) => void>((value) => typeof value === "function")
      .optional(),
  }),
});

function toolRun(options: { readonly abortSignal?: AbortSignal | undefined }): RunningCall {
  const signal = options.abortSignal;
  const known = surroundingsSchema.safeParse(options).data?.turnlog;
  if (known === undefined) return { signal };
  const { session, effectId, runtimeContext, ask, onProgress } = known;
  return {
    signal,
    // Forks have the effects of their origin.
    id: JSON.stringify([session, effectId]),
    ask,
    onProgress,
    turn: { session, ...(runtimeContext !== undefined && { runtimeContext }) },
  };
}
