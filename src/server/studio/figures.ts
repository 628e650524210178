/** The cost and the window of a session at a position, by the catalogue of models. */

import {
  callCost,
  modelCatalogue,
  modelLimits,
  sessionCost,
  type ModelCatalogue,
  type SessionCost,
} from "../../context/index.ts";
import { hasCode, type ModelName, type TokenUsage } from "../../events/index.ts";
import type { ListedSession, SessionState } from "../../state/index.ts";

interface Figures {
  /** By the prices of the catalogue; an agent may know others. */
  readonly cost: SessionCost;
  /** The context window of the last step's model, in tokens; absent if it is not known. */
  readonly window?: number;
}

let loaded: Promise<{ readonly catalogue?: ModelCatalogue }> | undefined;

interface KnownCost {
  readonly model: ModelName;
  readonly time: number;
  readonly cost: number | undefined;
}

/** A cache of costs: the states of a session share the usage of their steps, and a price takes long to find. */
function withKnownCosts(catalogue: ModelCatalogue): ModelCatalogue {
  const known = new WeakMap<TokenUsage, KnownCost>();
  return {
    ...catalogue,
    cost: (model, usage, time) => {
      const before = known.get(usage);
      if (before?.time === time && isSameModel(before.model, model)) return before.cost;
      const cost = catalogue.cost(model, usage, time);
      known.set(usage, { model, time, cost });
      return cost;
    },
  };
}

function isSameModel(one: ModelName, other: ModelName): boolean {
  return one === other || (one.provider === other.provider && one.modelId === other.modelId);
}

async function known(): Promise<{ readonly catalogue?: ModelCatalogue }> {
  loaded ??= modelCatalogue().then(
    (catalogue) => ({ catalogue: withKnownCosts(catalogue) }),
    (error: unknown) => {
      // Without the catalogue's package, windows and prices are not known.
      if (hasCode(error, "PACKAGE_MISSING")) return {};
      throw error;
    },
  );
  return await loaded;
}

/** US dollars for all tokens of a listed session at the price of its last model; undefined if not known. */
export async function listedCost({
  model,
  total,
  updatedAt,
}: ListedSession): Promise<number | undefined> {
  const [, provider, modelId] = /^([^:]*):(.*)$/s.exec(model ?? "") ?? [];
  if (provider === undefined || modelId === undefined) return undefined;
  return callCost({ provider, modelId }, total, updatedAt, await known());
}

export async function figuresOf({ usage, learnedLimits }: SessionState): Promise<Figures> {
  const limits = { ...(await known()), learned: learnedLimits };
  const cost = sessionCost(usage, limits);
  const last = usage.steps.at(-1);
  const model = usage.running?.model ?? last?.model;
  if (model === undefined) return { cost };
  const { contextWindow } = modelLimits(model, last?.time ?? 0, limits);
  return contextWindow === undefined ? { cost } : { cost, window: contextWindow };
}
