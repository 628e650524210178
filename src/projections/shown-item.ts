/**
 * An item as the model is shown it, with cut inputs and results, pruned results and omitted media. Made once for each view, so
 * that its messages are measured and hashed once.
 */

import {
  type CutCall,
  type CutInput,
  type RefusedMedium,
  type JsonValue,
  isList,
} from "../events/index.ts";
import type { Compaction, ContextView } from "./context-view.ts";
import type { CallPart, HistoryItem, HistoryPart, StepItem } from "./history-item.ts";
import { boundItem, isAllBound } from "./prompt-problems.ts";
import { withoutItemId } from "./prompt-step.ts";
import { omittedItem, withoutRefused } from "./shown-media.ts";
import { cutCall, type ResultMark, cutText } from "./shown-result.ts";

/** Replaces a pruned tool result. */
export const PRUNED_PLACEHOLDER = "[Old tool result content cleared]";

export type Shown = HistoryItem | Compaction;

export function isCompaction(shown: Shown): shown is Compaction {
  return "summary" in shown;
}

export function showsEverything(view: ContextView): boolean {
  const { compactions, prunings, cuts, omissions, reductions, bindings, binding } = view;
  const isWhole = compactions.length === 0 && prunings.length === 0 && cuts.length === 0;
  const hasMedia = omissions.length === 0 && reductions === undefined;
  return isWhole && hasMedia && isAllBound(bindings, binding);
}

export function shownItem(item: HistoryItem, view: ContextView): HistoryItem {
  return boundItem(prunedItem(sightedItem(item, view), view), view.binding);
}

/** An item with cuts, omitted and refused media, but without pruning. */
export function sightedItem(item: HistoryItem, view: ContextView): HistoryItem {
  const whole = cutItem(item, view);
  const shown = omittedItem(whole, view.omissions.at(-1)?.omitted);
  const refused = refusedMedia(view);
  return refused.length === 0 ? shown : withoutRefused(shown, whole, refused);
}

const none: readonly RefusedMedium[] = [];

export function refusedMedia({ reductions }: ContextView): readonly RefusedMedium[] {
  if (reductions === undefined) return none;
  return reductions.flatMap((one) => (one.rung === "without-media" ? one.media : none));
}

/** The name of a call in notes: its step and its number in the step. */
export function callName(step: StepItem, part: CallPart): string {
  const calls = step.parts.filter(({ kind }) => kind === "call");
  return `${step.step}.${calls.indexOf(part) + 1}`;
}

/** The newest cut of a call's result, and that of its input. */
interface Cut {
  readonly call?: CutCall;
  readonly reader?: string | undefined;
  readonly input?: CutInput;
}

/** The cuts of each step, by call. */
type Cuts = ReadonlyMap<number, ReadonlyMap<string, Cut>>;

const grouped = new WeakMap<ContextView["cuts"], Cuts>();

/** Computed once for each view. The newest cut of a call wins. */
function cutsOf({ cuts }: ContextView): Cuts {
  const known = grouped.get(cuts);
  if (known !== undefined) return known;
  const made = new Map<number, Map<string, Cut>>();
  const add = ({ step, callId }: CutCall | CutInput, cut: Cut): void => {
    const ofStep = made.get(step) ?? new Map<string, Cut>();
    made.set(step, ofStep.set(callId, { ...ofStep.get(callId), ...cut }));
  };
  for (const { calls, inputs = [], reader, undone } of cuts) {
    if (undone === true) continue;
    for (const call of calls) add(call, { call, reader });
    for (const input of inputs) add(input, { input });
  }
  grouped.set(cuts, made);
  return made;
}

interface CutItem {
  readonly cuts: ReadonlyMap<string, Cut>;
  readonly item: HistoryItem;
}

const cutItems = new WeakMap<HistoryItem, CutItem>();

export function cutItem(item: HistoryItem, view: ContextView): HistoryItem {
  if (item.kind !== "step" || view.cuts.length === 0) return item;
  const cuts = cutsOf(view).get(item.step);
  if (cuts === undefined) return item;
  const known = cutItems.get(item);
  if (known !== undefined && isSame(known.cuts, cuts)) return known.item;
  const cut = withCuts(item, cuts);
  cutItems.set(item, { cuts, item: cut });
  return cut;
}

function isSame(one: CutItem["cuts"], other: CutItem["cuts"]): boolean {
  return (
    one.size === other.size &&
    [...one].every(
      ([id, { call, input }]) => other.get(id)?.call === call && other.get(id)?.input === input,
    )
  );
}

function withCuts(item: StepItem, cuts: CutItem["cuts"]): StepItem {
  const parts = item.parts.map((part) => {
    const cut = part.kind === "call" ? cuts.get(part.callId) : undefined;
    if (part.kind !== "call" || cut === undefined) return part;
    const { call, input, reader } = cut;
    const shown = input === undefined ? part : { ...part, input: cutInput(part.input, input) };
    if (call === undefined) return shown;
    const { head, tail } = call;
    const mark: ResultMark = { head, tail, call: callName(item, part) };
    return cutCall(shown, reader === undefined ? mark : { ...mark, reader });
  });
  const hasCutInput = [...cuts.values()].some(({ input }) => input !== undefined);
  return { ...item, parts: hasCutInput ? withoutItems(parts) : parts };
}

/**
 * OpenAI is sent the id of a stored call, which has the whole input, in place of the call. Without these ids it
 * refuses the reasoning of the step.
 */
function withoutItems(parts: readonly HistoryPart[]): readonly HistoryPart[] {
  const bare = parts.map(withoutItemId);
  const isStored = bare.some((part, index) => part.kind === "call" && part !== parts[index]);
  if (!isStored) return parts;
  return bare.filter(({ kind }) => kind !== "reasoning" && kind !== "reasoning-file");
}

type PrunedCalls = ReadonlyMap<number, ReadonlySet<string>>;

const prunedCalls = new WeakMap<ContextView["prunings"], PrunedCalls>();

/** Computed once for each view. */
function prunedOf({ prunings }: ContextView): PrunedCalls {
  const known = prunedCalls.get(prunings);
  if (known !== undefined) return known;
  const byStep = Map.groupBy(
    prunings.flatMap(({ calls }) => calls),
    ({ step }) => step,
  );
  const made = new Map(
    [...byStep].map(([step, calls]) => [step, new Set(calls.map(({ callId }) => callId))]),
  );
  prunedCalls.set(prunings, made);
  return made;
}

interface PrunedItem {
  readonly calls: ReadonlySet<string>;
  readonly item: HistoryItem;
}

const prunedItems = new WeakMap<HistoryItem, PrunedItem>();

function prunedItem(item: HistoryItem, view: ContextView): HistoryItem {
  if (item.kind !== "step" || view.prunings.length === 0) return item;
  const calls = prunedOf(view).get(item.step);
  if (calls === undefined) return item;
  const known = prunedItems.get(item);
  if (known?.calls.size === calls.size && known.calls.isSubsetOf(calls)) return known.item;
  const pruned: HistoryItem = {
    ...item,
    parts: item.parts.map((part) =>
      part.kind === "call" && part.outcome.status === "succeeded" && calls.has(part.callId)
        ? {
            ...part,
            outcome: {
              ...part.outcome,
              modelOutput: { type: "text" as const, value: PRUNED_PLACEHOLDER },
            },
          }
        : part,
    ),
  };
  prunedItems.set(item, { calls, item: pruned });
  return pruned;
}

// Inputs of calls as a model is shown its own: long texts in them keep their beginning and their end.

/** The share of a cut text that is its beginning. */
const HEAD_SHARE = 0.75;

/** The input with its long texts cut; with `asText`, an object with the beginning and the end of its JSON. */
export function cutInput(
  input: JsonValue,
  { texts, asText }: Pick<CutInput, "texts" | "asText">,
): JsonValue {
  if (asText === true) return { input: shortened(JSON.stringify(input), texts) };
  return withTexts(input, (text) => shortened(text, texts));
}

function shortened(text: string, most: number): string {
  const head = Math.ceil(most * HEAD_SHARE);
  const cut = cutText(text, { head, tail: most - head, call: "" });
  return cut.length < text.length ? cut : text;
}

function withTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === "string") return change(value);
  if (isList(value)) return value.map((one) => withTexts(one, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withTexts(one, change)]),
  );
}
