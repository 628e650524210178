/** Tells when a turn goes in circles: the same calls, or the same words, step after step. Pure. */

import type { HistoryPart, HistoryState, StepItem } from "../projections/index.ts";

/** How many steps on end may be alike before the turn is ended. */
export interface LoopLimits {
  /** Steps with the same calls, inputs included. */
  readonly calls: number;
  /** Steps with the same text. */
  readonly texts: number;
}

export const DEFAULT_LOOP_LIMITS: LoopLimits = { calls: 5, texts: 5 };

/** Whether the turn that is running has come to a limit. */
export function isLooping(history: HistoryState, { calls, texts }: LoopLimits): boolean {
  const steps = lastSteps(history, Math.max(calls, texts));
  return areAlike(steps, calls, callsOf) || areAlike(steps, texts, textOf);
}

/** The newest whole steps of the turn, newest first. An attempt that failed is no step. */
function lastSteps({ items, open, turn }: HistoryState, count: number): readonly StepItem[] {
  const steps: StepItem[] = [];
  const add = (step: StepItem): void => {
    if (step.status === "finished") steps.push(step);
  };
  if (open !== undefined) add(open);
  for (let index = items.length - 1; index >= 0 && steps.length < count; index--) {
    const item = items[index];
    if (item?.turn !== turn) break;
    if (item.kind === "step") add(item);
  }
  return steps;
}

/** Whether the newest `count` steps say the same, and say something. */
function areAlike(
  steps: readonly StepItem[],
  count: number,
  said: (step: StepItem) => string,
): boolean {
  if (steps.length < count) return false;
  const [first = "", ...others] = steps.slice(0, count).map(said);
  return first !== "" && others.every((other) => other === first);
}

function callsOf({ parts }: StepItem): string {
  return parts.flatMap(callOf).join("\n");
}

function callOf(part: HistoryPart): readonly string[] {
  return part.kind === "call" ? [`${part.toolName} ${JSON.stringify(part.input)}`] : [];
}

function textOf({ parts }: StepItem): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
