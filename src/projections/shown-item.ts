/**
 * An item as the model is shown it, with cut and pruned results and omitted media. Made once for each view, so
 * that its messages are measured and hashed once.
 */

import type { CutCall } from "../events/index.ts";
import type { Compaction, ContextView } from "./context-view.ts";
import type { CallPart, HistoryItem, StepItem } from "./history-item.ts";
import { boundItem, isAllBound } from "./provider-bound.ts";
import { omittedItem } from "./shown-media.ts";
import { cutCall, type ResultMark } from "./shown-result.ts";

/** Replaces a pruned tool result. */
export const PRUNED_PLACEHOLDER = "[Old tool result content cleared]";

export type Shown = HistoryItem | Compaction;

export function isCompaction(shown: Shown): shown is Compaction {
  return "summary" in shown;
}

export function showsEverything(view: ContextView): boolean {
  const { compactions, prunings, cuts, omissions, bindings, binding } = view;
  const isWhole = compactions.length === 0 && prunings.length === 0 && cuts.length === 0;
  return isWhole && omissions.length === 0 && isAllBound(bindings, binding);
}

export function shownItem(item: HistoryItem, view: ContextView): HistoryItem {
  return boundItem(prunedItem(sightedItem(item, view), view), view.binding);
}

/** An item with cuts and omitted media, but without pruning. */
export function sightedItem(item: HistoryItem, view: ContextView): HistoryItem {
  return omittedItem(cutItem(item, view), view.omissions.at(-1)?.omitted);
}

/** The name of a call in notes: its step and its number in the step. */
export function callName(step: StepItem, part: CallPart): string {
  const calls = step.parts.filter(({ kind }) => kind === "call");
  return `${step.step}.${calls.indexOf(part) + 1}`;
}

interface Cut {
  readonly call: CutCall;
  readonly reader: string | undefined;
}

/** The cuts of each step, by call. */
type Cuts = ReadonlyMap<number, ReadonlyMap<string, Cut>>;

const grouped = new WeakMap<ContextView["cuts"], Cuts>();

/** Computed once for each view. The newest cut of a call wins. */
function cutsOf({ cuts }: ContextView): Cuts {
  const known = grouped.get(cuts);
  if (known !== undefined) return known;
  const made = new Map<number, Map<string, Cut>>();
  for (const { calls, reader, undone } of cuts) {
    if (undone === true) continue;
    for (const call of calls) {
      const ofStep = made.get(call.step) ?? new Map<string, Cut>();
      made.set(call.step, ofStep.set(call.callId, { call, reader }));
    }
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
    one.size === other.size && [...one].every(([id, { call }]) => other.get(id)?.call === call)
  );
}

function withCuts(item: StepItem, cuts: CutItem["cuts"]): StepItem {
  const parts = item.parts.map((part) => {
    const cut = part.kind === "call" ? cuts.get(part.callId) : undefined;
    if (part.kind !== "call" || cut === undefined) return part;
    const { head, tail } = cut.call;
    const mark: ResultMark = { head, tail, call: callName(item, part) };
    return cutCall(part, cut.reader === undefined ? mark : { ...mark, reader: cut.reader });
  });
  return { ...item, parts };
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
