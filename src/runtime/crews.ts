/** Who runs which session: one agent for all, except forks that were given another one. */

import { prepareAgent, type Agent, type PreparedAgent } from "./agent.ts";
import { lateCatalogue, type LateCatalogue } from "./late-catalogue.ts";

/** An agent with what is known of models. */
export interface Crew {
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
  readonly #usual: Crew;
  readonly #others = new Map<string, Crew>();

  constructor(usual: PreparedAgent) {
    this.#usual = crewOf(usual);
  }

  of(session: string): Crew {
    return this.#others.get(session) ?? this.#usual;
  }

  /** Says who runs a session from now on: before it wakes up. */
  set(session: string, crew: Crew): void {
    if (crew !== this.#usual) this.#others.set(session, crew);
  }
}

/** Who is to run a fork; the same crew where nothing is changed. */
export async function changedCrew(
  before: Crew,
  { agent, model, instructions, tools }: AgentChanges,
): Promise<Crew> {
  const changes = {
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(tools === undefined ? {} : { tools }),
  };
  if (agent === undefined && Object.keys(changes).length === 0) return before;
  return crewOf(await prepareAgent({ ...(agent ?? before.prepared.agent), ...changes }));
}

function crewOf(prepared: PreparedAgent): Crew {
  return { prepared, catalogue: lateCatalogue(prepared.agent.context?.catalogue) };
}
