/** The agent of a session's next request: its deferred tools are there once a search of the session has found them. */

import { type Agent, foundBy, loadedAgent, searchTools } from "../../agent/index.ts";
import type { HistoryState } from "../../projections/index.ts";

export function loadedFor(agent: Agent, { items, open }: HistoryState): Agent {
  const searches = searchTools(agent);
  if (searches.length === 0) return agent;
  const found = new Set<string>();
  for (const item of open === undefined ? items : [...items, open]) {
    if (item.kind !== "step") continue;
    for (const part of item.parts) {
      if (part.kind !== "call" || !searches.includes(part.toolName)) continue;
      if (part.outcome.status !== "succeeded") continue;
      for (const name of foundBy(part.outcome.output)) found.add(name);
    }
  }
  return loadedAgent(agent, found);
}
