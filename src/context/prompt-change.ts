/**
 * What changed in the prompt since the provider billed or counted one last: the anchor of an
 * estimate. Without one (none yet, another model, compacted or restored since) everything is a guess.
 */

import {
  itemMessages,
  messagesSince,
  modelKey,
  shownItem,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type PromptCount,
  type StepItem,
  type StepUsage,
  type UsageState,
} from "../projections/index.ts";
import { addSize, noSize, type MessageSize, type Meter } from "./message-size.ts";
import type { ModelFamily } from "./model-family.ts";

export interface PromptChange {
  /** The step that was billed; absent where the prompt was counted. */
  readonly step?: number;
  readonly input: number;
  /** Of its output, what goes back with the next prompt. */
  readonly output: number;
  readonly added: MessageSize;
  readonly removed: MessageSize;
}

interface States {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly usage: UsageState;
  readonly counted: PromptCount | undefined;
  readonly family: ModelFamily;
}

/** A prompt whose size is known. */
interface Anchor {
  /** What came before it was in it. */
  readonly position: number;
  readonly turn: number;
  /** The first step that was not in it. */
  readonly step: number;
  readonly input: number;
  readonly billed?: { readonly usage: StepUsage; readonly item: StepItem };
}

/** What changed since the last bill or count, or undefined where there is none to build on. */
export function promptChange(states: States, measure: Meter): PromptChange | undefined {
  const { history, view, family } = states;
  const bill = billAnchor(states, measure);
  const count = countAnchor(states, measure);
  const anchor = (count?.position ?? 0) > (bill?.position ?? 0) ? count : bill;
  if (anchor === undefined || view.changed > anchor.position) return undefined;
  const { input, billed } = anchor;
  const added = messagesSince(history, view, anchor.position);
  const isNewTurn = added.some(({ role }) => role === "user");
  return {
    ...(billed === undefined ? {} : { step: billed.usage.step }),
    input,
    output: billed === undefined ? 0 : sentBack(billed.usage, billed.item, isNewTurn, family),
    added: added.map((message) => measure.message(message)).reduce(addSize, noSize),
    removed: removedSince(states, anchor, isNewTurn, measure),
  };
}

function billAnchor({ history, usage }: States, measure: Meter): Anchor | undefined {
  const billed = usage.steps.findLast(
    (step) => step.usage.basis === "measured" && step.usage.inputTokens > 0,
  );
  if (billed === undefined || modelKey(billed.model) !== modelKey(measure.model)) return undefined;
  const item = stepItem(history, billed.step);
  if (item?.status !== "finished") return undefined;
  const { position, turn, step } = item;
  return { position, turn, step, input: billed.usage.inputTokens, billed: { usage: billed, item } };
}

function countAnchor({ counted }: States, measure: Meter): Anchor | undefined {
  if (counted === undefined || modelKey(counted.model) !== modelKey(measure.model))
    return undefined;
  const { position, turn, step, tokens } = counted;
  return { position, turn, step: step + 1, input: tokens };
}

function stepItem({ items, open }: HistoryState, step: number): StepItem | undefined {
  if (open?.step === step) return open;
  const found = items.findLast((item) => item.kind === "step" && item.step === step);
  return found?.kind === "step" ? found : undefined;
}

function hasReasoning(item: StepItem): boolean {
  return itemMessages(item).some(
    ({ role, content }) =>
      role === "assistant" &&
      typeof content !== "string" &&
      content.some((part) => part.type === "reasoning"),
  );
}

/** Reasoning leaves the sum where it is not sent back, or is dropped by the provider when its turn is over. */
function sentBack(
  { usage }: StepUsage,
  item: StepItem,
  isNewTurn: boolean,
  { dropsOldReasoning }: ModelFamily,
): number {
  const kept = hasReasoning(item) && !(isNewTurn && dropsOldReasoning);
  return usage.outputTokens - (kept ? 0 : (usage.reasoningTokens ?? 0));
}

function removedSince(
  { history, view, usage, family }: States,
  anchor: Anchor,
  isNewTurn: boolean,
  measure: Meter,
): MessageSize {
  const left = leftOutSince(history, view, anchor, measure);
  if (!isNewTurn || !family.dropsOldReasoning) return left;
  const dropped = usage.steps
    .filter(({ step, turn }) => turn === anchor.turn && step < anchor.step)
    .filter(({ step }) => {
      const item = stepItem(history, step);
      return item !== undefined && hasReasoning(item);
    })
    .reduce((sum, step) => sum + (step.usage.reasoningTokens ?? 0), 0);
  return addSize(left, { ...noSize, around: dropped });
}

/** What the results before a step have lost after it: they were cleared, or cut. */
function leftOutSince(
  history: HistoryState,
  view: ContextView,
  anchor: Anchor,
  measure: Meter,
): MessageSize {
  const isOld = ({ position }: { readonly position: number }): boolean =>
    position < anchor.position;
  const prunings = view.prunings.filter(isOld);
  const cuts = view.cuts.filter(isOld);
  if (prunings.length === view.prunings.length && cuts.length === view.cuts.length) return noSize;
  const steps = new Set(
    [...view.prunings.slice(prunings.length), ...view.cuts.slice(cuts.length)].flatMap(
      ({ calls }) => calls.map(({ step }) => step),
    ),
  );
  const then = { ...view, prunings, cuts };
  return [...steps]
    .filter((step) => step < anchor.step)
    .map((step) => {
      const item = stepItem(history, step);
      if (item === undefined) return noSize;
      const [whole, left] = [then, view].map((one) => resultsSize(shownItem(item, one), measure));
      return difference(whole ?? noSize, left ?? noSize);
    })
    .reduce(addSize, noSize);
}

function resultsSize(item: HistoryItem, measure: Meter): MessageSize {
  return itemMessages(item)
    .filter(({ role }) => role === "tool")
    .map((message) => measure.message(message))
    .reduce(addSize, noSize);
}

function difference(left: MessageSize, right: MessageSize): MessageSize {
  return {
    text: left.text - right.text,
    media: left.media - right.media,
    around: left.around - right.around,
    bytes: left.bytes - right.bytes,
  };
}
