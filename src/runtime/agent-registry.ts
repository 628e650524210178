/** Who runs which session: one agent for all, except forks that were given another one. */

import type { McpOffer } from "../events/index.ts";
import { prepareAgent, type Agent, type PreparedAgent, agentSchema } from "../agent/index.ts";
import { check } from "../validation/index.ts";
import { checkPolicies } from "./tool-policies.ts";
import { type McpServers, equipAgent, type CallTool } from "../mcp/index.ts";
import { lateCatalogue, type LateCatalogue } from "./late-catalogue.ts";

/** An agent with what is known of models. */
export interface SessionAgent {
  /** As it was given, without what MCP servers offer. */
  readonly given: Agent;
  readonly prepared: PreparedAgent;
  readonly catalogue: LateCatalogue;
}

/** A fork may be run by another agent, or by one of which only some things are others. */
export interface AgentChanges {
  readonly agent?: Agent;
  readonly model?: Agent["model"];
  readonly instructions?: string;
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

  /** Says who runs a session from now on: before it wakes up. */
  set(session: string, sessionAgent: SessionAgent): void {
    if (sessionAgent !== this.#usual) this.#others.set(session, sessionAgent);
  }

  /** Gives a session's crew what MCP servers offer now, and with it all who share it; the same crew where that has not changed. */
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

/**
 * Who is to run a fork; the same crew where nothing is changed.
 * @param servers - The MCP servers of the runtime.
 * @throws TurnlogError `INVALID_INPUT`
 */
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
  // An agent whose tools alone are changed keeps its policies: calls of before may need them.
  if (agent !== undefined) checkPolicies(given, servers, "fork");
  return sessionAgentOf(given, await prepareAgent(given));
}

function sessionAgentOf(given: Agent, prepared: PreparedAgent): SessionAgent {
  return { given, prepared, catalogue: lateCatalogue(given.context?.catalogue) };
}
