/** The lines at the end of a turn: why it ended, what is kept, what it cost. Folds the figures; pure. */

import {
  saysSomething,
  type SessionEvent,
  type TokenUsage,
  type TurnEndReason,
} from "../../events/index.ts";
import { addUsage, noUsage } from "../../projections/index.ts";
import { amount, duration, tokens } from "../wording/index.ts";

export interface TurnTally {
  /** Epoch milliseconds of the first event. */
  readonly startedAt: number | undefined;
  readonly steps: number;
  /** Characters of the reply, and of reasoning. */
  readonly text: number;
  readonly reasoning: number;
  /** Whether the model has said anything in the running step, or may have before the first event. */
  readonly says: boolean;
  /** Calls that succeeded or failed. */
  readonly results: number;
  /** Calls that were not started, and calls with an unknown outcome. */
  readonly skipped: number;
  readonly unknown: number;
  readonly usage: TokenUsage;
}

export const emptyTally: TurnTally = {
  startedAt: undefined,
  steps: 0,
  text: 0,
  reasoning: 0,
  says: true,
  results: 0,
  skipped: 0,
  unknown: 0,
  usage: noUsage,
};

export function tally(state: TurnTally, event: SessionEvent): TurnTally {
  const startedAt = state.startedAt ?? event.time;
  const next = { ...state, startedAt, says: state.says || saysSomething(event) };
  switch (event.type) {
    case "step.started":
      return { ...next, says: false, steps: state.steps + (event.data.attempt === 1 ? 1 : 0) };
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

/** Why the turn ended; undefined for the usual end. */
export function endingSentence(reason: TurnEndReason, tally: TurnTally): string | undefined {
  switch (reason) {
    case "stop":
      return tally.says ? undefined : "The model ended its turn and said nothing.";
    case "length":
      return "The reply ends here: the model has reached its limit of output.";
    case "content-filter":
      return "The provider's content filter has ended the reply.";
    case "max-steps":
      return "The turn ends here: it has reached its limit of steps.";
    case "stop-condition":
      return "The turn ends here: a condition of the agent's `stopWhen` was met.";
    case "timed-out":
      return `The turn's time was up. ${keptOf(tally)}`;
    case "repeating":
      return `The turn was ended: the model repeated itself. ${keptOf(tally)}`;
    case "out-of-budget":
      return `The turn was ended: its next call would have passed a limit of spending. ${keptOf(tally)}`;
    case "cancelled":
      return `Cancelled. ${keptOf(tally)}`;
    case "failed":
      return `The turn failed. ${keptOf(tally)}`;
    case "interrupted":
      return `The turn was interrupted. ${keptOf(tally)}`;
  }
}

/** `tokens: 1,490 in, 54 out (17 reasoning) · 2 steps · 119 ms` */
export function costLine(
  { time: at }: SessionEvent<"turn.ended">,
  { usage, steps, startedAt }: TurnTally,
): string {
  const took = startedAt === undefined ? "" : ` · ${duration(at - startedAt)}`;
  return `tokens: ${tokens(usage)} · ${amount(steps, "step")}${took}`;
}

function keptOf({ text, reasoning, results, skipped, unknown }: TurnTally): string {
  const kept = [
    "your message",
    ...(text === 0 ? [] : [`${amount(text, "character")} of the reply`]),
    ...(reasoning === 0 ? [] : [`${amount(reasoning, "character")} of reasoning`]),
    ...(results === 0 ? [] : [amount(results, "tool result")]),
  ];
  const sentences = [
    `Kept in the session: ${kept.join(", ")}.`,
    ...(skipped === 0 ? [] : [`${amount(skipped, "call")} not started.`]),
    ...(unknown === 0
      ? []
      : [`${amount(unknown, "call")} with an unknown outcome; the model will be told.`]),
  ];
  return sentences.join(" ");
}
