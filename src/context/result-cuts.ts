/**
 * Which new tool results are longer than their share, and how much of them is shown. Pure: proposes,
 * and the runtime records. Only results that no reply has followed yet: the provider's cache loses nothing.
 */

import { check, flag, list, optionsOf } from "../validation/index.ts";
import type { CutCall } from "../events/index.ts";
import {
  callName,
  cutGap,
  cutItem,
  cutText,
  itemMessages,
  resultText,
  type CallPart,
  type ContextView,
  type HistoryState,
  type ResultMark,
  type StepItem,
} from "../projections/index.ts";
import type { PlanBudget } from "./compaction-strategy.ts";
import { z } from "zod";

/** What {@link planCuts} looks at. */
export interface CutInput {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly budget: PlanBudget;
  readonly options?: CutOptions;
  /** The tool that the note names, where one is offered. */
  readonly reader?: string;
}

/** What `context.cut` has. */
export interface CutPlan {
  readonly calls: readonly CutCall[];
  readonly savedTokens: number;
}

/** Of what is shown, how much is the beginning: a result says at its start what it is. */
const HEAD_SHARE = 0.75;
/** Of the beginning or the end, what may be given up for a whole line. */
const LINE_SHARE = 0.25;
interface Result {
  readonly part: CallPart;
  /** As it is shown now: it may have been cut for a larger window. */
  readonly shown: CallPart;
  /** Tokens of what is shown, media left aside. */
  readonly size: number;
}

/** What to cut before the next step, or undefined where everything fits. */
export function planCuts(input: CutInput): CutPlan | undefined {
  const { history, budget: ground, options, reader } = input;
  check(cutSchema, options ?? {}, "planCuts", { name: "options" });
  const share = resultShare(ground, options);
  const step = unansweredStep(history);
  if (step === undefined) return undefined;
  const results = resultsOf(step, input);
  const sizes = results.map(({ size }) => size);
  const limit = resultLimit(sizes, share);
  const tokens = (text: string): number => ground.meter.text(text).text * ground.factor;
  let saved = 0;
  const calls = results.flatMap(({ part, shown, size }): readonly CutCall[] => {
    const [text, now] = [resultText(part), resultText(shown)];
    if (size <= limit || text === undefined || now === undefined) return [];
    const mark = { call: callName(step, part), ...(reader === undefined ? {} : { reader }) };
    const most = Math.floor((now.length * limit) / size);
    const { head, tail } = fitting(text, mark, most, (cut) => tokens(cut) / limit);
    saved += size - tokens(cutText(text, { ...mark, head, tail }));
    return [{ step: step.step, callId: part.callId, head, tail }];
  });
  return calls.length === 0 ? undefined : { calls, savedTokens: Math.max(0, Math.round(saved)) };
}

/** The newest step in which anything was said: no model has answered to its results. */
function unansweredStep({ items, open }: HistoryState): StepItem | undefined {
  if (open !== undefined && itemMessages(open).length > 0) return open;
  const last = items.findLast((item) => item.kind === "step" && itemMessages(item).length > 0);
  return last?.kind === "step" ? last : undefined;
}

/** The results that may be cut: not those that the user wants whole, or has had back. */
function resultsOf(
  step: StepItem,
  { view, budget: ground, options = {} }: CutInput,
): readonly Result[] {
  const kept = new Set(options.keepTools);
  const wanted = view.cuts
    .filter(({ undone }) => undone === true)
    .flatMap(({ calls }) => calls)
    .filter((call) => call.step === step.step);
  const isWanted = ({ callId, toolName }: CallPart): boolean =>
    kept.has(toolName) || wanted.some((call) => call.callId === callId);
  const shown = cutItem(step, view);
  if (shown.kind !== "step") return [];
  const sizes = sizesOf(shown, ground);
  return step.parts.flatMap((part, index) => {
    const now = shown.parts[index];
    const size = part.kind === "call" ? sizes.get(part.callId) : undefined;
    if (part.kind !== "call" || now?.kind !== "call" || size === undefined) return [];
    return isWanted(part) ? [] : [{ part, shown: now, size }];
  });
}

/** By call; the estimate of the prompt has counted them before. */
function sizesOf(step: StepItem, { meter, factor }: PlanBudget): ReadonlyMap<string, number> {
  return new Map(
    itemMessages(step).flatMap((message) =>
      message.role === "tool"
        ? message.content.flatMap((part) =>
            part.type === "tool-result"
              ? [[part.toolCallId, meter.result(part).text * factor] as const]
              : [],
          )
        : [],
    ),
  );
}

/**
 * The most of a text that has no more than its limit, note included.
 * @param most characters that are worth trying.
 * @param used of the limit, 1 being all.
 */
function fitting(
  text: string,
  mark: Omit<ResultMark, "head" | "tail">,
  most: number,
  used: (shown: string) => number,
): ResultMark {
  let characters = most;
  for (;;) {
    const cut = { ...mark, ...ends(text, characters) };
    const share = used(cutText(text, cut));
    if (share <= 1 || characters === 0) return cut;
    characters = Math.floor(characters * Math.min(0.9, 1 / share));
  }
}

/** The beginning and the end of a text that have so many characters together, at whole lines where there are some near. */
function ends(text: string, characters: number): { readonly head: number; readonly tail: number } {
  const head = Math.floor(characters * HEAD_SHARE);
  const tail = characters - head;
  const line = text.lastIndexOf("\n", head - 1) + 1;
  const start = text.length - tail;
  const next = text.indexOf("\n", start - 1) + 1;
  const mark = {
    head: head > 0 && head - line <= LINE_SHARE * head ? line : head,
    tail: next > 0 && next - start <= LINE_SHARE * tail ? text.length - next : tail,
  };
  const gap = cutGap(text, mark);
  return gap === undefined ? mark : { head: gap.from, tail: text.length - gap.to };
}

/** When a tool result is too long to be shown whole. */
export interface CutOptions {
  /** Of what messages may have, what one tool result may take: above 0, up to 1. Default 0.25. */
  readonly share?: number;
  /** Names of tools whose results are never cut. */
  readonly keepTools?: readonly string[];
  /** Whether the model is offered the tool that reads what is left out. Default true. */
  readonly reader?: boolean;
}

export const cutSchema: z.ZodType = optionsOf<CutOptions>(
  { share: z.unknown(), keepTools: list, reader: flag },
  {},
);

/** Of what messages may have, what one result may take where the options say nothing. */
const SHARE = 0.25;

/** Of what messages may have, what the results of one step may take together, unless one alone may take more. */
const STEP_SHARE = 0.5;
/** Tokens that messages are taken to have where no window is known: twice what a compaction leaves. */
const USUAL_TOKENS = 80_000;
/** Less would be little more than the note. */
const LEAST_TOKENS = 200;

export interface ResultShare {
  /** Tokens that one result may have. */
  readonly result: number;
  /** Tokens that the results of one step may have. */
  readonly step: number;
}

/** What results may have of a prompt, by what its messages may have. */
export function resultShare(
  { messageTokens = USUAL_TOKENS }: Pick<PlanBudget, "messageTokens">,
  { share = SHARE }: CutOptions = {},
): ResultShare {
  return {
    result: Math.max(LEAST_TOKENS, share * messageTokens),
    step: Math.max(share, STEP_SHARE) * messageTokens,
  };
}

/**
 * Tokens that each of a step's results may have: those that need less leave the rest to the others.
 * @param sizes tokens of the results, whole.
 */
function resultLimit(sizes: readonly number[], { result, step }: ResultShare): number {
  let left = step;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const even = left / (sizes.length - index);
    if (size > even) return Math.max(LEAST_TOKENS, Math.min(result, even));
    left -= size;
  }
  return result;
}

/** Tokens that a page may have which is read in a step with so many calls: never so many that it is cut. */
export function pageLimit({ result, step }: ResultShare, calls: number): number {
  return Math.max(LEAST_TOKENS, Math.min(result / 2, step / Math.max(1, calls)));
}
