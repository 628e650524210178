/** An agent as sessions share it: prepared, with its catalogue and the tools of MCP servers. */

import { TurnlogError, type McpOffer, type ModelName } from "../../events/index.ts";
import { modelCatalogue, type KnownLimits, type ModelCatalogue } from "../../context/index.ts";
import { guardedCatalogue, type Agent, type PreparedAgent } from "../../agent/index.ts";
import { equipAgent, type CallTool } from "../../mcp/index.ts";

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
export function lateCatalogue(own?: ModelCatalogue): LateCatalogue {
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
