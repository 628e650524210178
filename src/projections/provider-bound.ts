/**
 * What of a step only its own provider understands, and what others are shown in its place. Pure, and
 * by nothing but what the log says: who made the step, and who runs the session now.
 */

import type { ModelName } from "../events/index.ts";
import type { HistoryItem, HistoryPart, StepItem } from "./history-item.ts";

/**
 * Two models with the same word understand what the other has signed, encrypted or stored: those of one
 * interface of one provider; behind one that offers models of many makers, those of one maker.
 */
export function bindingOf({ provider, modelId }: ModelName): string {
  const maker = /^(?:(?:us|eu|apac|global|jp|au|ca)\.)?([\w-]+)[./]/.exec(modelId)?.[1];
  const isMarket = provider === "amazon-bedrock" || modelId.includes("/");
  return isMarket && maker !== undefined ? `${provider}/${maker}` : provider;
}

/** Nobody knows who said what was imported: it is sent as it came, as every provider skips what is marked as another's. */
const IMPORTED = "imported";

/** Whether all that models with these words have said can be sent as it is to the one with that word. */
export function isAllBound(bindings: readonly string[], to: string | undefined): boolean {
  return to === undefined || bindings.every((binding) => binding === to || binding === IMPORTED);
}

const shown = new WeakMap<StepItem, StepItem>();

/** An item as it is shown to a model with that word: a step of another one without what is bound to it. */
export function boundItem(item: HistoryItem, to: string | undefined): HistoryItem {
  if (item.kind !== "step" || isAllBound([bindingOf(item.model)], to)) return item;
  const known = shown.get(item);
  if (known !== undefined) return known;
  const unbound = { ...item, parts: item.parts.flatMap(unboundPart) };
  shown.set(item, unbound);
  return unbound;
}

/**
 * Text and calls stay, without what the provider marked them with. Reasoning, files, the provider's own
 * calls and parts of its own kind are left out: nobody else accepts them.
 */
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
