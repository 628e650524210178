/** Reads a page of a tool result for a call of `read_tool_output`. Pure. */

import { entriesOf } from "../../events/index.ts";
import { pageLimit, resultPage, resultShare } from "../../context/index.ts";
import {
  resultText,
  type CallPart,
  type HistoryState,
  type StepItem,
} from "../../projections/index.ts";
import { nextEstimate, type PromptSetup } from "./context-figures.ts";
import { stepBudget } from "./prompt-limits.ts";
import type { ReadRequest } from "../../agent/index.ts";
import type { SessionState } from "../../state/index.ts";

/** @throws Error for the model, if the call has no result */
export function readResult(
  state: SessionState,
  setup: PromptSetup,
  now: number,
  { call, from, length }: ReadRequest,
): string {
  const part = callNamed(state.history, call);
  const text = part && resultText(part);
  if (text === undefined) {
    throw new Error(
      `There is no result of a call ${JSON.stringify(call)}. Name the call as the note in its result does.`,
    );
  }
  const budget = stepBudget(setup, nextEstimate(state, setup, now));
  const { cut = {} } = setup.prepared.agent.context ?? {};
  const share = resultShare(budget, cut === false ? {} : cut);
  const limit = pageLimit(share, entriesOf(state.machine.context.calls).length);
  const tokens = (shown: string): number => budget.meter.text(shown).text * budget.factor;
  const range = length === undefined ? { from } : { from, length };
  return resultPage(text, range, limit, tokens).shown;
}

/** Finds a call by `step.index`, as notes name it, or by its id, of which the newest is meant. */
function callNamed({ items, open }: HistoryState, name: string): CallPart | undefined {
  const steps = [...items, ...(open === undefined ? [] : [open])].filter(
    (item): item is StepItem => item.kind === "step",
  );
  const [, step, index] = /^(\d+)\.(\d+)$/.exec(name) ?? [];
  const named = steps.findLast((item) => item.step === Number(step));
  const byIndex = named === undefined ? undefined : callsOf(named)[Number(index) - 1];
  return byIndex ?? steps.flatMap(callsOf).findLast(({ callId }) => callId === name);
}

function callsOf({ parts }: StepItem): readonly CallPart[] {
  return parts.filter((part): part is CallPart => part.kind === "call");
}
