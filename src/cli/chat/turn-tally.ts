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
  /** Calls that were not started, and those whose end nobody saw. */
  readonly skipped: number;
  readonly unknown: number;
  readonly usage: TokenUsage;
}

export const emptyTally: TurnTally = {
  startedAt: undefined,
  steps: 0,
  text: 0,
  reasoning: 0,
  results: 0,
  skipped: 0,
  unknown: 0,
  usage: noUsage,
};

export function tally(state: TurnTally, event: SessionEvent): TurnTally {
  const next = { ...state, startedAt: state.startedAt ?? event.time };
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
    case "tool.skipped":
      return { ...next, skipped: state.skipped + 1 };
    case "tool.unknown":
      return { ...next, unknown: state.unknown + 1 };
    case "step.retrying": {
      const { usage } = event.data;
      return usage === undefined ? next : { ...next, usage: addUsage(state.usage, usage) };
    }
    case "step.finished":
    case "step.failed":
    case "step.interrupted":
      return { ...next, usage: addUsage(state.usage, event.data.usage) };
    default:
      return next;
  }
}
