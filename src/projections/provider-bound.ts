/**
 * Removes the parts of a step that only its own provider accepts, when another model is shown the step. Depends
 * only on the two models, both from the log. Pure.
 */

import type { ModelName } from "../events/index.ts";
import type { HistoryItem, HistoryPart, StepItem } from "./history-item.ts";

/**
 * Models with the same binding accept each other's signed, encrypted and stored parts: those of one provider
 * interface, or of one maker behind a provider with many makers.
 */
export function bindingOf({ provider, modelId }: ModelName): string {
  const maker = /^(?:(?:us|eu|apac|global|jp|au|ca)\.)?([\w-]+)[./]/.exec(modelId)?.[1];
  const isMarket = provider === "amazon-bedrock" || modelId.includes("/");
  return isMarket && maker !== undefined ? `${provider}/${maker}` : provider;
}

/** The binding of imported steps: they are sent unchanged, since providers skip metadata of others. */
const IMPORTED = "imported";

/** Whether the steps of models with these bindings can be sent unchanged to a model with binding `to`. */
export function isAllBound(bindings: readonly string[], to: string | undefined): boolean {
  return to === undefined || bindings.every((binding) => binding === to || binding === IMPORTED);
}

const shown = new WeakMap<StepItem, StepItem>();

/** Steps of models with another binding lose their bound parts. */
export function boundItem(item: HistoryItem, to: string | undefined): HistoryItem {
  if (item.kind !== "step" || isAllBound([bindingOf(item.model)], to)) return item;
  const known = shown.get(item);
  if (known !== undefined) return known;
  const unbound = { ...item, parts: item.parts.flatMap(unboundPart) };
  shown.set(item, unbound);
  return unbound;
}

/** Text and calls stay, without metadata. No other provider accepts reasoning, files and the rest. */
function unboundPart(part: HistoryPart): readonly HistoryPart[] {
  switch (part.kind) {
    case "text":
    case "call": {
      const { providerMetadata: _, ...rest } = part;
      return [rest];
    }
    case "source":
    case "error":
      return [part];
    case "reasoning":
    case "reasoning-file":
    case "file":
    case "custom":
    case "provider-call":
    case "provider-result":
      return [];
  }
}
