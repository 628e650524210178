/** What a rewind leaves behind: turns, their effects in the world, and what they cost. Pure. */

import type { TokenUsage } from "../../events/index.ts";
import {
  addUsage,
  isWithin,
  noUsage,
  ownBeside,
  ownSteps,
  spansUpTo,
  type HistoryItem,
} from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";

/** A call of the branch that was left, whose effect in the world remains. */
export interface RemainingEffect {
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  /** `unknown`: the call was started, and nobody knows how it ended. */
  readonly status: "succeeded" | "unknown";
}

/** The turns that leave the active branch. */
export interface LeftTurns {
  readonly turns: readonly number[];
  /** What their calls did and a rewind does not undo, oldest first. */
  readonly effects: readonly RemainingEffect[];
  /** The tokens of those turns. They stay in the session's total. */
  readonly usage: TokenUsage;
}

export const nothingLeft: LeftTurns = { turns: [], effects: [], usage: noUsage };

/** What leaves the active branch when the session goes to a boundary. */
export function leftTurns(state: SessionState, to: number): LeftTurns {
  const left = leftItems(state, to);
  const turns = [...new Set(left.map(({ turn }) => turn))];
  return { turns, effects: left.flatMap(effectsOf), usage: usageOf(state, turns) };
}

/** Finished items of the active branch that a rewind leaves. */
function leftItems({ history, branches }: SessionState, to: number): readonly HistoryItem[] {
  const spans = spansUpTo(branches, to);
  return history.items.filter(
    ({ position, kind }) => kind !== "note" && !isWithin(spans, position),
  );
}

function effectsOf(item: HistoryItem): readonly RemainingEffect[] {
  if (item.kind !== "step") return [];
  const { turn, step, parts } = item;
  return parts.flatMap((part) => {
    if (part.kind !== "call") return [];
    const { callId, toolName, outcome } = part;
    const { status } = outcome;
    return status === "succeeded" || status === "unknown"
      ? [{ turn, step, callId, toolName, status }]
      : [];
  });
}

function usageOf({ usage }: SessionState, left: readonly number[]): TokenUsage {
  const turns = new Set(left);
  return [...ownSteps(usage), ...ownBeside(usage)]
    .filter(({ turn }) => turns.has(turn))
    .reduce((sum, one) => addUsage(sum, one.usage), noUsage);
}

/** The text that tells the model about effects. */
export function noteOn(effects: readonly RemainingEffect[]): string {
  const words = effects.map(({ toolName, status }) =>
    status === "succeeded" ? `- ${toolName} (succeeded)` : `- ${toolName} (its outcome is unknown)`,
  );
  return `[The user took back what came after this point. These tool calls had run before, and their effects remain:\n${words.join("\n")}]`;
}
