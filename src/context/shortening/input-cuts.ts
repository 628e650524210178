/**
 * Plans how to cut long inputs of new calls, such as a file that a model has written: in a small window they
 * leave no room for an answer. Like results, only those that no reply has followed. Pure.
 */

import type { CutInput, JsonValue } from "../../events/index.ts";
import { cutInput } from "../../projections/index.ts";
import {
  callsToCut,
  LEAST_TOKENS,
  resultLimit,
  resultShare,
  shrunk,
  unansweredStep,
  type CutPlanning,
} from "./result-cuts.ts";

export interface InputCutPlan {
  readonly inputs: readonly CutInput[];
  readonly savedTokens: number;
}

/** The inputs to cut before the next step; undefined if they fit, or the room for messages is not known. */
export function planInputCuts(planning: CutPlanning): InputCutPlan | undefined {
  const { history, budget, options } = planning;
  const step = unansweredStep(history);
  if (step === undefined || budget.messageTokens === undefined) return undefined;
  const tokens = (input: JsonValue): number =>
    budget.meter.text(JSON.stringify(input)).text * budget.factor;
  const calls = callsToCut(step, planning, ({ inputs = [] }) => inputs)
    .filter(({ part }) => typeof part.input === "object")
    .map(({ part, shown }) => ({ part, size: tokens(shown.input) }));
  // All inputs of a step together have what one result may have.
  const { result: share } = resultShare(budget, options);
  const sizes = calls.map(({ size }) => size);
  const limit = resultLimit(sizes, { result: share, step: share });
  let saved = 0;
  const inputs = calls.flatMap(({ part, size }): readonly CutInput[] => {
    if (size <= Math.max(limit, LEAST_TOKENS)) return [];
    const mark = fitting(part.input, limit, tokens);
    const left = tokens(cutInput(part.input, mark));
    if (left >= size) return [];
    saved += size - left;
    return [{ step: step.step, callId: part.callId, ...mark }];
  });
  return inputs.length === 0 ? undefined : { inputs, savedTokens: Math.max(0, Math.round(saved)) };
}

type InputMark = Pick<CutInput, "texts" | "asText">;

/** The longest cut within the limit: of the texts inside, or of the whole if they are not what is long. */
function fitting(input: JsonValue, limit: number, tokens: (input: JsonValue) => number): InputMark {
  const longest = JSON.stringify(input).length;
  const inside = shrunk(longest, (texts) => tokens(cutInput(input, { texts })) / limit);
  if (inside !== undefined) return { texts: inside };
  const whole = (texts: number): InputMark => ({ texts, asText: true });
  return whole(shrunk(longest, (texts) => tokens(cutInput(input, whole(texts))) / limit) ?? 0);
}
