/**
 * Plans how to cut new tool results that are longer than their share of the prompt. No reply has followed
 * them, so the provider's cache loses nothing. Pure: the runtime records the plan.
 */

import { check, flag, list, optionsOf } from "../../validation/index.ts";
import type { CutCall, CutInput, JsonValue } from "../../events/index.ts";
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
  partsPair,
  type Gap,
  cutInput,
} from "../../projections/index.ts";
import type { PlanBudget } from "../compaction/compaction-strategy.ts";
import { resultSizes } from "../estimate/message-size.ts";
import { z } from "zod";

/** What is known when cuts are planned. */
export interface CutPlanning {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly budget: PlanBudget;
  readonly options?: CutOptions;
  /** The tool that the note names, if there is one. */
  readonly reader?: string;
}

interface CutPlan {
  readonly calls: readonly CutCall[];
  readonly savedTokens: number;
}

/** The share of the shown text that is the beginning: a result often describes itself there. */
const HEAD_SHARE = 0.75;
/** The share of the beginning or the end that may be given up for whole lines. */
const LINE_SHARE = 0.25;
interface Result {
  readonly part: CallPart;
  /** The call as it is shown now: it may have been cut for a larger window. */
  readonly shown: CallPart;
  /** Tokens of the shown result, without media. */
  readonly size: number;
}

/** The results to cut before the next step; undefined if everything fits. */
export function planCuts(input: CutPlanning): CutPlan | undefined {
  const { history, budget, options, reader } = input;
  check(cutSchema, options ?? {}, "planCuts", { name: "options" });
  const share = resultShare(budget, options);
  const step = unansweredStep(history);
  if (step === undefined) return undefined;
  const results = resultsOf(step, input);
  const sizes = results.map(({ size }) => size);
  const limit = resultLimit(sizes, share);
  const tokens = (text: string): number => budget.meter.text(text).text * budget.factor;
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

/** No reply has followed its results. */
function unansweredStep({ items, open }: HistoryState): StepItem | undefined {
  if (open !== undefined && itemMessages(open).length > 0) return open;
  const last = items.findLast((item) => item.kind === "step" && itemMessages(item).length > 0);
  return last?.kind === "step" ? last : undefined;
}

/** The calls of a step that may be cut: not those of `keepTools`, and none whose cut was undone. */
function callsToCut(
  step: StepItem,
  { view, options = {} }: CutPlanning,
  cutIn: (cut: ContextView["cuts"][number]) => readonly { step: number; callId: string }[],
): readonly Omit<Result, "size">[] {
  const kept = new Set(options.keepTools);
  const wanted = view.cuts
    .filter(({ undone }) => undone === true)
    .flatMap(cutIn)
    .filter((call) => call.step === step.step);
  const shown = cutItem(step, view);
  if (shown.kind !== "step") return [];
  return step.parts.flatMap((part, index) => {
    const now = shown.parts[index];
    if (part.kind !== "call" || now?.kind !== "call" || kept.has(part.toolName)) return [];
    return wanted.some(({ callId }) => callId === part.callId) ? [] : [{ part, shown: now }];
  });
}

function resultsOf(step: StepItem, planning: CutPlanning): readonly Result[] {
  const { meter, factor } = planning.budget;
  const sizes = resultSizes(cutItem(step, planning.view), meter);
  return callsToCut(step, planning, ({ calls }) => calls).flatMap((call) => {
    const size = sizes.get(call.part.callId);
    return size === undefined ? [] : [{ ...call, size: size.text * factor }];
  });
}

/** The longest cut within the limit, note included. `used`: the used share of the limit. */
function fitting(
  text: string,
  mark: Omit<ResultMark, "head" | "tail">,
  most: number,
  used: (shown: string) => number,
): ResultMark {
  const cut = (characters: number): ResultMark => ({ ...mark, ...ends(text, characters) });
  return cut(shrunk(most, (characters) => used(cutText(text, cut(characters)))) ?? 0);
}

/** As many characters as use at most all of a limit, to a tenth; undefined if even `least` use more. */
function shrunk(most: number, used: (characters: number) => number, least = 0): number | undefined {
  for (let characters = most; ;) {
    const share = used(characters);
    if (share <= 1) return characters;
    if (characters === least) return undefined;
    characters = Math.max(least, Math.floor(characters * Math.min(0.9, 1 / share)));
  }
}

/** The beginning and the end of a text with `characters` together, at line ends if they are near. */
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

export interface CutOptions {
  /** The share of the messages' budget that one result may take: above 0, up to 1. Default 0.25. */
  readonly share?: number;
  /** Names of tools whose results are never cut. */
  readonly keepTools?: readonly string[];
  /** Whether the model gets the tool that reads the rest. Default true. */
  readonly reader?: boolean;
}

export const cutSchema: z.ZodType = optionsOf<CutOptions>(
  { share: z.unknown(), keepTools: list, reader: flag },
  {},
);

const SHARE = 0.25;

/** The share of all results of one step, unless one result alone may take more. */
const STEP_SHARE = 0.5;
/** The assumed budget of messages if no window is known: twice what a compaction keeps. */
const USUAL_TOKENS = 80_000;
/** The least tokens of a cut result: fewer would be little more than the note. */
const LEAST_TOKENS = 200;

interface ResultShare {
  readonly result: number;
  readonly step: number;
}

export function resultShare(
  { messageTokens = USUAL_TOKENS }: Pick<PlanBudget, "messageTokens">,
  { share = SHARE }: CutOptions = {},
): ResultShare {
  return {
    result: Math.max(LEAST_TOKENS, share * messageTokens),
    step: Math.max(share, STEP_SHARE) * messageTokens,
  };
}

/** The most tokens of each result: short ones leave their rest to the others. @param sizes Of whole results. */
function resultLimit(sizes: readonly number[], { result, step }: ResultShare): number {
  let left = step;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const even = left / (sizes.length - index);
    if (size > even) return Math.max(LEAST_TOKENS, Math.min(result, even));
    left -= size;
  }
  return result;
}

/** The most tokens of a page that is read in a step with this number of calls: a page is never cut. */
export function pageLimit({ result, step }: ResultShare, calls: number): number {
  return Math.max(LEAST_TOKENS, Math.min(result / 2, step / Math.max(1, calls)));
}

// Reads a long tool result page by page; consecutive pages have no gap. Pure.

/** The requested page, in characters (UTF-16 units). */
export interface PageRequest {
  readonly from: number;
  /** The most characters. Default: as many as the page may have. */
  readonly length?: number;
}

interface ResultPage extends Gap {
  readonly text: string;
  /** The text for the model: the place of the page, then the page. */
  readonly shown: string;
}

/** Characters for each token of the first attempt. */
const PER_TOKEN = 4;

/** With at most `limit` tokens, heading included, and at least one character. Never splits a surrogate pair. */
export function resultPage(
  text: string,
  { from, length = Number.POSITIVE_INFINITY }: PageRequest,
  limit: number,
  tokens: (shown: string) => number,
): ResultPage {
  const start = Math.min(from, text.length);
  const first = start - (partsPair(text, start) ? 1 : 0);
  const page = (characters: number): ResultPage => pageFrom(text, first, characters);
  const most = Math.max(1, Math.floor(Math.min(length, limit * PER_TOKEN)));
  return page(shrunk(most, (characters) => tokens(page(characters).shown) / limit, 1) ?? 1);
}

function pageFrom(text: string, from: number, characters: number): ResultPage {
  const end = Math.min(text.length, from + characters);
  const parted = partsPair(text, end);
  const to = parted ? (end - 1 > from ? end - 1 : end + 1) : end;
  const page = text.slice(from, to);
  const next = to < text.length ? ` They go on from ${to}.` : "";
  return {
    from,
    to,
    text: page,
    shown: `[Characters ${from} to ${to} of ${text.length}.${next}]\n${page}`,
  };
}

// Plans how to cut long inputs of new calls, such as a file that a model has written: in a small window they leave
// no room for an answer. Like results, only those that no reply has followed. Pure.

interface InputCutPlan {
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
    const mark = fittingInput(part.input, limit, tokens);
    const left = tokens(cutInput(part.input, mark));
    if (left >= size) return [];
    saved += size - left;
    return [{ step: step.step, callId: part.callId, ...mark }];
  });
  return inputs.length === 0 ? undefined : { inputs, savedTokens: Math.max(0, Math.round(saved)) };
}

type InputMark = Pick<CutInput, "texts" | "asText">;

/** The longest cut within the limit: of the texts inside, or of the whole if they are not what is long. */
function fittingInput(
  input: JsonValue,
  limit: number,
  tokens: (input: JsonValue) => number,
): InputMark {
  const longest = JSON.stringify(input).length;
  const inside = shrunk(longest, (texts) => tokens(cutInput(input, { texts })) / limit);
  if (inside !== undefined) return { texts: inside };
  const whole = (texts: number): InputMark => ({ texts, asText: true });
  return whole(shrunk(longest, (texts) => tokens(cutInput(input, whole(texts))) / limit) ?? 0);
}
