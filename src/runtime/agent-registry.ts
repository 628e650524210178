/** Who runs which session: one agent for all, except forks that were given another one. */

import type { McpOffer } from "../events/index.ts";
import { prepareAgent, type Agent, type PreparedAgent, agentSchema } from "../agent/index.ts";
import { check } from "../validation/index.ts";
import { checkPolicies } from "./tool-policies.ts";
import { type McpServers, equipAgent, type CallTool } from "../mcp/index.ts";
import { lateCatalogue, type LateCatalogue } from "./late-catalogue.ts";

/** An agent with what is known of models. */
export interface Crew {
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

export class Crews {
  #usual: Crew;
  readonly #others = new Map<string, Crew>();

  constructor(given: Agent, prepared: PreparedAgent) {
    this.#usual = crewOf(given, prepared);
  }

  of(session: string): Crew {
    return this.#others.get(session) ?? this.#usual;
  }

  /** Says who runs a session from now on: before it wakes up. */
  set(session: string, crew: Crew): void {
    if (crew !== this.#usual) this.#others.set(session, crew);
  }

  /** Gives a session's crew what MCP servers offer now, and with it all who share it; the same crew where that has not changed. */
  async equip(session: string, offer: McpOffer, call: CallTool): Promise<Crew> {
    const crew = this.of(session);
    if (JSON.stringify(crew.prepared.description.mcp) === JSON.stringify(offer)) return crew;
    const equipped = { ...crew, prepared: await equipAgent(crew.given, offer, call) };
    if (crew === this.#usual) this.#usual = equipped;
    else if (this.#others.get(session) === crew) this.#others.set(session, equipped);
    return equipped;
  }
}

/**
 * Who is to run a fork; the same crew where nothing is changed.
 * @param servers - The MCP servers of the runtime.
 * @throws TurnlogError `INVALID_INPUT`
 */
export async function changedCrew(
  before: Crew,
  { agent, model, instructions, tools }: AgentChanges,
  servers: McpServers | undefined,
): Promise<Crew> {
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
  return crewOf(given, await prepareAgent(given));
}

function crewOf(given: Agent, prepared: PreparedAgent): Crew {
  return { given, prepared, catalogue: lateCatalogue(given.context?.catalogue) };
}
