/** Writes the outcome of a tool call into the step that made it. */

import type { CallOutcome, HistoryState, StepItem } from "./history-item.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/** Calls end while their step is open; a step that is over is looked up from the end. */
export function withOutcome(state: HistoryState, key: CallKey, outcome: CallOutcome): HistoryState {
  if (state.open?.step === key.step) {
    return { ...state, open: inStep(state.open, key, outcome) };
  }
  const index = state.items.findLastIndex((item) => item.kind === "step" && item.step === key.step);
  const item = state.items[index];
  if (item?.kind !== "step") return state;
  return { ...state, items: state.items.with(index, inStep(item, key, outcome)) };
}

function inStep(step: StepItem, key: CallKey, outcome: CallOutcome): StepItem {
  return {
    ...step,
    parts: step.parts.map((part) =>
      part.kind === "call" && part.callId === key.callId ? { ...part, outcome } : part,
    ),
  };
}
