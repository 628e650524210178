/** Opens the ledger of a runtime, with the prices of its agents. */

import type { AgentRegistry } from "./agent-registry.ts";
import {
  SpendingLedger,
  type LedgerOptions,
  type SpendingLimits,
} from "../figures/spending-ledger.ts";

/** Undefined without limits. */
export function openLedger({
  log,
  agents,
  limits,
  clock,
}: Pick<LedgerOptions, "log" | "clock"> & {
  readonly agents: AgentRegistry;
  readonly limits: SpendingLimits | undefined;
}): SpendingLedger | undefined {
  if (limits === undefined) return undefined;
  return new SpendingLedger({
    log,
    limits,
    clock,
    prices: async ({ agent }) => {
      const known = agents.known(agent);
      await known?.catalogue.ready();
      return known?.prices ?? {};
    },
  });
}
