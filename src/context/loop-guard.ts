/** Detects a turn that repeats the same calls or the same text in each step. Pure. */

import type { HistoryPart, HistoryState, StepItem } from "../projections/index.ts";

/** How many consecutive steps may be equal before the turn ends. */
export interface LoopLimits {
  /** Steps with the same calls, inputs included. */
  readonly calls: number;
  /** Steps with the same text. */
  readonly texts: number;
}

export const DEFAULT_LOOP_LIMITS: LoopLimits = { calls: 5, texts: 5 };

export function isLooping(history: HistoryState, { calls, texts }: LoopLimits): boolean {
  const steps = lastSteps(history, Math.max(calls, texts));
  return areAlike(steps, calls, callsOf) || areAlike(steps, texts, textOf);
}

/** The newest finished steps of the turn, newest first, without failed attempts. */
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

/** Whether the newest `count` steps have the same text, which is not empty. */
function areAlike(
  steps: readonly StepItem[],
  count: number,
  contentOf: (step: StepItem) => string,
): boolean {
  if (steps.length < count) return false;
  const [first = "", ...others] = steps.slice(0, count).map(contentOf);
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
