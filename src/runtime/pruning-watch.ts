/** Says before which steps it is worth looking for something to prune: a look costs the whole history. */

import type { ContextEstimate } from "../context/index.ts";
import type { EventBody } from "../events/index.ts";
import type { ContextGround } from "./context-figures.ts";
import { pruningNow } from "./prompt-room.ts";
import type { SessionState } from "./session-state.ts";

/** Defaults of `PruneOptions`. */
const PROTECTED = 40_000;
const MINIMUM_GAIN = 20_000;
/** Milliseconds after which a provider's cache may have grown cold. */
const PAUSE_MS = 300_000;

/** Remembers when it last looked. Forgotten with its session: then it looks once more. */
export class PruningWatch {
  #turn = 0;
  #tokens = 0;

  /** What is pruned before a step, as an event. */
  beforeStep(
    state: SessionState,
    ground: ContextGround,
    { tokens }: ContextEstimate,
    now: number,
  ): EventBody | undefined {
    const { prune = {} } = ground.prepared.agent.context ?? {};
    if (prune === false) return undefined;
    const { protectTokens = PROTECTED, minimumGain = MINIMUM_GAIN } = prune;
    const { turn } = state.history;
    // With less in the prompt there is nothing to find.
    if (tokens < protectTokens + minimumGain) return undefined;
    const last = state.usage.steps.at(-1);
    const hasPaused = last !== undefined && now - last.at > PAUSE_MS;
    const hasGrown = tokens >= this.#tokens + minimumGain / 2;
    if (turn === this.#turn && !hasPaused && !hasGrown) return undefined;
    this.#turn = turn;
    this.#tokens = tokens;
    return pruningNow(state, ground, now, "step");
  }
}
