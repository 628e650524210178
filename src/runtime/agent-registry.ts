/** The agent of each session: the runtime's own, or the one that a fork was given. */

import { TurnlogError, type McpOffer } from "../events/index.ts";
import { modelCatalogue, type ModelCatalogue } from "../context/index.ts";
import {
  agentSchema,
  guardedCatalogue,
  prepareAgent,
  type Agent,
  type PreparedAgent,
} from "../agent/index.ts";
import { check } from "../validation/index.ts";
import { checkToolNames } from "./named-tools.ts";
import { type McpServers, equipAgent, type CallTool } from "../mcp/index.ts";

/** A catalogue that is loaded before the first step, and knows nothing until then. */
interface LateCatalogue extends ModelCatalogue {
  /** Resolves when the catalogue is loaded. A step must wait for it. */
  ready(): Promise<void>;
}

export interface SessionAgent {
  /** As the user passed it, without the tools of MCP servers. */
  readonly given: Agent;
  readonly prepared: PreparedAgent;
  readonly catalogue: LateCatalogue;
}

/** A fork may have another agent, or the same one with another model, instructions or tools. */
export interface AgentChanges {
  readonly agent?: Agent;
  readonly model?: Agent["model"];
  readonly instructions?: NonNullable<Agent["instructions"]>;
  readonly tools?: NonNullable<Agent["tools"]>;
}

export class AgentRegistry {
  #usual: SessionAgent;
  readonly #others = new Map<string, SessionAgent>();

  constructor(given: Agent, prepared: PreparedAgent) {
    this.#usual = sessionAgentOf(given, prepared);
  }

  of(session: string): SessionAgent {
    return this.#others.get(session) ?? this.#usual;
  }

  set(session: string, sessionAgent: SessionAgent): void {
    if (sessionAgent !== this.#usual) this.#others.set(session, sessionAgent);
  }

  /** Gives the agent of a session, and all sessions that share it, the tools that MCP servers offer now. */
  async equip(session: string, offer: McpOffer, call: CallTool): Promise<SessionAgent> {
    const sessionAgent = this.of(session);
    if (JSON.stringify(sessionAgent.prepared.description.mcp) === JSON.stringify(offer))
      return sessionAgent;
    const equipped = {
      ...sessionAgent,
      prepared: await equipAgent(sessionAgent.given, offer, call),
    };
    if (sessionAgent === this.#usual) this.#usual = equipped;
    else if (this.#others.get(session) === sessionAgent) this.#others.set(session, equipped);
    return equipped;
  }
}

/** The same object if nothing changes. @throws TurnlogError `INVALID_INPUT` */
export async function changedAgent(
  before: SessionAgent,
  { agent, model, instructions, tools }: AgentChanges,
  servers: McpServers | undefined,
): Promise<SessionAgent> {
  const changes = {
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(tools === undefined ? {} : { tools }),
  };
  if (agent === undefined && Object.keys(changes).length === 0) return before;
  const given = { ...(agent ?? before.given), ...changes };
  check(agentSchema, given, "fork", { name: "agent" });
  // With new tools alone the policies stay: calls in the shared history may need them.
  if (agent !== undefined) checkToolNames(given, servers, "fork");
  return sessionAgentOf(given, await prepareAgent(given));
}

function sessionAgentOf(given: Agent, prepared: PreparedAgent): SessionAgent {
  return { given, prepared, catalogue: lateCatalogue(given.context?.catalogue) };
}

function lateCatalogue(own: ModelCatalogue | undefined): LateCatalogue {
  let loaded = own && guardedCatalogue(own);
  let loading: Promise<void> | undefined;
  return {
    limits: (model, at) => loaded?.limits(model, at),
    cost: (model, usage, at) => loaded?.cost(model, usage, at),
    ready: async () => {
      if (loaded !== undefined) return;
      loading ??= shippedCatalogue().then((made) => {
        loaded = made;
      });
      await loading;
    },
  };
}

/** The shipped catalogue; without its package a warning, and a catalogue that knows no model. */
async function shippedCatalogue(): Promise<ModelCatalogue> {
  try {
    return await modelCatalogue();
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "PACKAGE_MISSING") throw error;
    process.emitWarning(
      `${error.message} Until then turnlog knows a model's window and prices only from \`context.limits\` and \`context.catalogue\`.`,
      { code: "TURNLOG_PACKAGE_MISSING" },
    );
    return { limits: () => undefined, cost: () => undefined };
  }
}
