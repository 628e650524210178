/** Says before which steps it is worth looking for something to prune: a look costs the whole history. */

import { PRUNE_DEFAULTS, SHORTEST_LIFETIME_MS, type ContextEstimate } from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import type { PromptSetup } from "./context-figures.ts";
import { pruningNow } from "./headroom.ts";
import type { SessionState } from "../../state/index.ts";

/** Remembers when it last looked. Forgotten with its session: then it looks once more. */
export class PruningWatch {
  #turn = 0;
  #tokens = 0;

  /** What is pruned before a step, as an event. */
  beforeStep(
    state: SessionState,
    setup: PromptSetup,
    { tokens }: ContextEstimate,
    now: number,
  ): EventBody | undefined {
    const { prune = {} } = setup.prepared.agent.context ?? {};
    if (prune === false) return undefined;
    const {
      protectTokens = PRUNE_DEFAULTS.protectTokens,
      minimumGain = PRUNE_DEFAULTS.minimumGain,
    } = prune;
    const { turn } = state.history;
    // With less in the prompt there is nothing to find.
    if (tokens < protectTokens + minimumGain) return undefined;
    const last = state.usage.steps.at(-1);
    const hasPaused = last !== undefined && now - last.at > SHORTEST_LIFETIME_MS;
    const hasGrown = tokens >= this.#tokens + minimumGain / 2;
    if (turn === this.#turn && !hasPaused && !hasGrown) return undefined;
    this.#turn = turn;
    this.#tokens = tokens;
    return pruningNow(state, setup, now, "step");
  }
}
