/** What a turn has brought so far, folded from its events: for the line at its end. Pure. */

import type { SessionEvent, TokenUsage } from "../../events/index.ts";
import { addUsage, noUsage } from "../../projections/index.ts";

export interface TurnTally {
  /** Epoch milliseconds of the first event. */
  readonly startedAt: number | undefined;
  readonly steps: number;
  /** Characters that the model has said, and those that it has thought. */
  readonly text: number;
  readonly reasoning: number;
  /** Calls whose result is known. */
  readonly results: number;
  readonly usage: TokenUsage;
}

export const emptyTally: TurnTally = {
  startedAt: undefined,
  steps: 0,
  text: 0,
  reasoning: 0,
  results: 0,
  usage: noUsage,
};

export function tally(state: TurnTally, event: SessionEvent): TurnTally {
  const next = { ...state, startedAt: state.startedAt ?? event.at };
  switch (event.type) {
    case "step.started":
      return event.data.attempt === 1 ? { ...next, steps: state.steps + 1 } : next;
    case "part.text-delta":
      return { ...next, text: state.text + event.data.text.length };
    case "part.reasoning-delta":
      return { ...next, reasoning: state.reasoning + event.data.text.length };
    case "tool.succeeded":
    case "tool.failed":
      return { ...next, results: state.results + 1 };
    case "step.finished":
    case "step.failed":
    case "step.interrupted":
      return { ...next, usage: addUsage(state.usage, event.data.usage) };
    default:
      return next;
  }
}
