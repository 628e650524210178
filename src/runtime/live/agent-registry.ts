/** Finds the agent of each session: the runtime's only one, one by its name, or the answer of a function. */

import { defined, TurnlogError, type McpOffer, type ModelName } from "../../events/index.ts";
import {
  agentSchema,
  agentToolOptions,
  awaited,
  heldAgent,
  prepareAgent,
  type Agent,
  type AgentToolOptions,
  guardedCatalogue,
  type PreparedAgent,
} from "../../agent/index.ts";
import { type McpServers, equipAgent, type CallTool } from "../../mcp/index.ts";
import { check, nearestName } from "../../validation/index.ts";
import type { AgentChanges } from "../../commands/index.ts";
import { checkToolNames } from "../api/named-tools.ts";
import type { AgentFor, AgentOptions, SessionIdentity } from "../api/runtime-options.ts";
import {
  type KnownLimits,
  type ModelLimits,
  modelCatalogue,
  type ModelCatalogue,
} from "../../context/index.ts";

/** A catalogue that is loaded before the first step, and knows nothing until then. */
interface LateCatalogue extends ModelCatalogue {
  /** Resolves when the catalogue is loaded. A step must wait for it. */
  ready(): Promise<void>;
}

export class SessionAgent {
  /** As the user passed it, without the tools of MCP servers. */
  readonly given: Agent;
  /** Its name among the runtime's `agents`. */
  readonly name: string | undefined;
  readonly catalogue: LateCatalogue;
  #prepared: PreparedAgent;

  constructor(given: Agent, prepared: PreparedAgent, name?: string) {
    this.given = given;
    this.name = name;
    this.catalogue = lateCatalogue(given.context?.catalogue);
    this.#prepared = withName(prepared, name);
  }

  get prepared(): PreparedAgent {
    return this.#prepared;
  }

  /** Where the prices of its models come from. */
  get prices(): KnownLimits {
    const overrides = this.#prepared.agent.context?.limits;
    const { catalogue } = this;
    return overrides === undefined ? { catalogue } : { catalogue, overrides };
  }

  /** Gives the agent, and so all its sessions, the tools that MCP servers offer now. */
  async equip(offer: McpOffer, call: CallTool): Promise<PreparedAgent> {
    const { mcp } = this.#prepared.description;
    if (JSON.stringify(mcp) !== JSON.stringify(offer))
      this.#prepared = withName(await equipAgent(this.given, offer, call), this.name);
    return this.#prepared;
  }
}

function withName(prepared: PreparedAgent, name: string | undefined): PreparedAgent {
  if (name === undefined) return prepared;
  return { ...prepared, description: { ...prepared.description, name } };
}

/** The shipped catalogue, unless there is another. */
function lateCatalogue(own?: ModelCatalogue): LateCatalogue {
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

/** The shipped catalogue; without its package one that knows no model. */
async function shippedCatalogue(): Promise<ModelCatalogue> {
  try {
    return await modelCatalogue();
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "PACKAGE_MISSING") throw error;
    return missingCatalogue(error.message);
  }
}

/** Knows no model, and warns at the first one that has a price. */
function missingCatalogue(reason: string): ModelCatalogue {
  let isWarned = false;
  const unknown = ({ provider }: ModelName): undefined => {
    // The offline and the scripted model cost nothing,
    if (isWarned || provider === "turnlog") return;
    isWarned = true;
    process.emitWarning(
      `${reason} Until then turnlog knows a model's window and prices only from \`context.limits\` and \`context.catalogue\`.`,
      { code: "TURNLOG_PACKAGE_MISSING" },
    );
  };
  return { limits: unknown, cost: unknown };
}

/** The names that a session's agent is found by. */
export interface AgentNames {
  /** From the session's log. */
  readonly recorded: string | undefined;
  /** From the caller that opens the session. */
  readonly asked: string | undefined;
}

type Agents =
  | { readonly kind: "one"; readonly agent: SessionAgent }
  | { readonly kind: "named"; readonly agents: ReadonlyMap<string, SessionAgent> }
  | { readonly kind: "function"; readonly agentFor: AgentFor };

/** Prepares the agents of a runtime. @throws TurnlogError `INVALID_INPUT` */
export async function agentRegistry(
  { agent, agents }: AgentOptions,
  servers: McpServers | undefined,
): Promise<AgentRegistry> {
  if (typeof agent === "function")
    return new AgentRegistry({ kind: "function", agentFor: agent }, servers);
  if (agents === undefined) {
    const only = new SessionAgent(agent, await prepareAgent(agent));
    return await checked(new AgentRegistry({ kind: "one", agent: only }, servers), [agent]);
  }
  const named = Object.entries(agents).map(
    async ([name, given]) =>
      [name, new SessionAgent(given, await prepareAgent(given), name)] as const,
  );
  const registry = new AgentRegistry(
    { kind: "named", agents: new Map(await Promise.all(named)) },
    servers,
  );
  return await checked(registry, Object.values(agents));
}

/** Prepares the agents of tools too, so that a wrong one is refused before anything runs. */
async function checked(registry: AgentRegistry, given: readonly Agent[]): Promise<AgentRegistry> {
  for (const { tools = {} } of given)
    for (const [toolName, one] of Object.entries(tools)) {
      const options = agentToolOptions(one);
      if (options === undefined) continue;
      const { given: own } = await registry.ofTool(options, toolName);
      if (typeof options.agent !== "string") await checked(registry, [own]);
    }
  return registry;
}

export class AgentRegistry {
  readonly #agents: Agents;
  readonly #servers: McpServers | undefined;
  /** The agents of forks and sessions that were changed in this process. */
  readonly #changed = new Map<string, SessionAgent>();
  /** A cache: the agent of a tool is prepared once for all its sessions. */
  readonly #ofTools = new WeakMap<Agent, Promise<SessionAgent>>();

  /** What the agents so far say of prices, by model. */
  readonly #limits: Record<string, ModelLimits> = {};
  #catalogue = lateCatalogue();

  constructor(agents: Agents, servers: McpServers | undefined) {
    this.#agents = agents;
    this.#servers = servers;
    if (agents.kind === "one") this.#met(agents.agent);
    if (agents.kind === "named") for (const agent of agents.agents.values()) this.#met(agent);
  }

  /** The prices for sessions that are not live, by the name of their agent, after {@link ready}. */
  prices(name: string | undefined): KnownLimits {
    const own = this.known(name)?.prices;
    const overrides = { ...this.#limits, ...own?.overrides };
    return { catalogue: own?.catalogue ?? this.#catalogue, overrides };
  }

  /** Resolves when the catalogues are loaded. */
  async ready(): Promise<void> {
    const agents = this.#agents;
    const one = agents.kind === "one" ? [agents.agent] : [];
    const all = agents.kind === "named" ? [...agents.agents.values()] : one;
    await Promise.all(
      [this.#catalogue, ...all.map((own) => own.catalogue)].map((own) => own.ready()),
    );
  }

  /** A session that is not live may have had any agent, such as that of a tool. */
  #met(agent: SessionAgent): SessionAgent {
    Object.assign(this.#limits, agent.prices.overrides);
    if (agent.given.context?.catalogue !== undefined) this.#catalogue = agent.catalogue;
    return agent;
  }

  /** The names of the tools of all agents that are known before a session is opened. */
  get toolNames(): ReadonlySet<string> {
    const agents = this.#agents;
    if (agents.kind === "function") return new Set();
    const known = agents.kind === "one" ? [agents.agent] : [...agents.agents.values()];
    return new Set(known.flatMap(({ prepared }) => Object.keys(prepared.agent.tools ?? {})));
  }

  /** The agent of a tool of `agentTool`. @throws TurnlogError `INVALID_INPUT` */
  async ofTool(
    { agent }: AgentToolOptions,
    toolName: string,
    session?: string,
  ): Promise<SessionAgent> {
    const who = `agentTool ${toolName}`;
    if (typeof agent === "string") return this.named(agent, who, session);
    const known = this.#ofTools.get(agent);
    if (known !== undefined) return await known;
    checkToolNames(agent, this.#servers, who);
    const made = prepareAgent(agent).then((prepared) =>
      this.#met(new SessionAgent(agent, prepared)),
    );
    this.#ofTools.set(agent, made);
    return await made;
  }

  /** @throws TurnlogError `INVALID_INPUT` without a name, `AGENT_MISSING`, `CALLBACK_FAILED` */
  async of(session: SessionIdentity, names: AgentNames): Promise<SessionAgent> {
    const changed = this.#changed.get(session.id);
    if (changed !== undefined) return changed;
    switch (this.#agents.kind) {
      case "one":
        return this.#agents.agent;
      case "named":
        return namedAgent(session.id, this.#agents.agents, names);
      case "function":
        return await this.#answered(session, this.#agents.agentFor);
    }
  }

  /** The agent of a session that is not opened; undefined if only its activation tells. */
  known(name: string | undefined): SessionAgent | undefined {
    if (this.#agents.kind === "one") return this.#agents.agent;
    return this.#agents.kind === "named" ? this.#agents.agents.get(name ?? "") : undefined;
  }

  /** The agent of that name. @throws TurnlogError `INVALID_INPUT` */
  named(name: string, who: string, session?: string): SessionAgent {
    const details = { option: "agent" };
    const about = session === undefined ? {} : { session };
    if (this.#agents.kind !== "named") {
      throw new TurnlogError(
        "INVALID_INPUT",
        `${who}: the name of an agent has no effect in a runtime without \`agents\`. Create it with \`agents: { ${name} }\`, or leave the name out.`,
        { ...about, details },
      );
    }
    const { agents } = this.#agents;
    const agent = agents.get(name);
    if (agent !== undefined) return agent;
    const nearest = nearestName(name, [...agents.keys()]);
    const advice =
      nearest === undefined ? `It has ${listed(agents)}.` : `Did you mean \`${nearest}\`?`;
    throw new TurnlogError(
      "INVALID_INPUT",
      `${who}: this runtime has no agent \`${name}\`. ${advice}`,
      { ...about, details: { ...details, ...(nearest === undefined ? {} : { nearest }) } },
    );
  }

  /** The same object if nothing changes. A changed agent keeps its name. @throws TurnlogError `INVALID_INPUT` */
  async changed(
    session: string,
    before: SessionAgent,
    { agent, model, instructions, tools }: AgentChanges,
    who: string,
  ): Promise<SessionAgent> {
    const base = typeof agent === "string" ? this.named(agent, who, session) : before;
    const other = typeof agent === "string" ? undefined : agent;
    const changes = defined({ model, instructions, tools });
    if (other === undefined && Object.keys(changes).length === 0) return base;
    const given = { ...(other ?? base.given), ...changes };
    check(agentSchema, given, who, { name: "agent" });
    // With new tools alone the policies stay: calls in the shared history may need them.
    if (other !== undefined) checkToolNames(given, this.#servers, who);
    return this.#met(new SessionAgent(given, await prepareAgent(given), base.name));
  }

  /** Runs a session by this agent while the runtime is open. */
  set(session: string, agent: SessionAgent): void {
    this.#changed.set(session, agent);
  }

  forget(session: string): void {
    this.#changed.delete(session);
  }

  isChanged(session: string): boolean {
    return this.#changed.has(session);
  }

  async #answered(session: SessionIdentity, agentFor: AgentFor): Promise<SessionAgent> {
    const answer = await awaited("agent", () => agentFor(session));
    const who = `the answer of \`agent\` for session ${session.id}`;
    check(agentSchema, answer, who, { name: "agent", session: session.id });
    checkToolNames(answer, this.#servers, who);
    const given = heldAgent(answer);
    return this.#met(new SessionAgent(given, await prepareAgent(given)));
  }
}

/** A recorded name that the runtime does not have gives way to the one that the caller asks for. */
function namedAgent(
  session: string,
  agents: ReadonlyMap<string, SessionAgent>,
  { recorded, asked }: AgentNames,
): SessionAgent {
  const found = agents.get(recorded ?? "") ?? agents.get(asked ?? "");
  if (found !== undefined) return found;
  const details = { agents: [...agents.keys()] };
  if (recorded === undefined) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `session: session ${session} needs the name of its agent, since this runtime has ${listed(agents)}. Pass \`{ agent: name }\`; later openings need no name.`,
      { session, details: { ...details, option: "options.agent" } },
    );
  }
  throw new TurnlogError(
    "AGENT_MISSING",
    `Session ${session} is run by the agent \`${recorded}\`, and this runtime has ${listed(agents)}. Add \`${recorded}\` to \`agents\`, or open the session with \`{ agent: name }\` to give it another.`,
    { session, details: { ...details, agent: recorded } },
  );
}

function listed(agents: ReadonlyMap<string, unknown>): string {
  const names = [...agents.keys()].map((name) => `\`${name}\``);
  return names.length === 1 ? `the agent ${names.join("")}` : `the agents ${names.join(", ")}`;
}
