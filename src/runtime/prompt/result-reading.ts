/** Reads a page of a tool result from a session's state, in answer to a call of the built-in tool. Pure. */

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

/** @throws Error where no result of such a call is known: the model is told so. */
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
  const asked = length === undefined ? { from } : { from, length };
  return resultPage(text, asked, limit, tokens).shown;
}

/** By its step and its place in it, as notes name it; or by its id, of which the newest is meant. */
function callNamed({ items, open }: HistoryState, name: string): CallPart | undefined {
  const steps = [...items, ...(open === undefined ? [] : [open])].filter(
    (item): item is StepItem => item.kind === "step",
  );
  const [, step, place] = /^(\d+)\.(\d+)$/.exec(name) ?? [];
  const named = steps.findLast((item) => item.step === Number(step));
  const byPlace = named === undefined ? undefined : callsOf(named)[Number(place) - 1];
  return byPlace ?? steps.flatMap(callsOf).findLast(({ callId }) => callId === name);
}

function callsOf({ parts }: StepItem): readonly CallPart[] {
  return parts.filter((part): part is CallPart => part.kind === "call");
}
