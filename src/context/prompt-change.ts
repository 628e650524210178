/**
 * What changed in the prompt since the last step that the provider billed: the anchor of an
 * estimate. Without one (no bill yet, another model, compacted or restored since) everything is a guess.
 */

import {
  itemMessages,
  messagesSince,
  modelKey,
  PRUNED_PLACEHOLDER,
  type ContextView,
  type HistoryState,
  type StepItem,
  type StepUsage,
  type UsageState,
} from "../projections/index.ts";
import { addSize, noSize, type MessageSize, type Meter } from "./message-size.ts";
import type { ModelFamily } from "./model-family.ts";

export interface PromptChange {
  /** The step that was billed. */
  readonly step: number;
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
  readonly family: ModelFamily;
}

/** What changed since the last bill, or undefined where there is none to build on. */
export function promptChange(states: States, measure: Meter): PromptChange | undefined {
  const { history, view, usage } = states;
  const billed = usage.steps.findLast(
    (step) => step.usage.basis === "measured" && step.usage.inputTokens > 0,
  );
  if (billed === undefined || modelKey(billed.model) !== modelKey(measure.model)) return undefined;
  const item = stepItem(history, billed.step);
  if (item?.status !== "finished" || view.changed > item.position) return undefined;
  const added = messagesSince(history, view, item.position);
  const isNewTurn = added.some(({ role }) => role === "user");
  return {
    step: billed.step,
    input: billed.usage.inputTokens,
    output: sentBack(billed, item, isNewTurn, states.family),
    added: added.map((message) => measure.message(message)).reduce(addSize, noSize),
    removed: removedSince(states, item, isNewTurn, measure),
  };
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
  anchor: StepItem,
  isNewTurn: boolean,
  measure: Meter,
): MessageSize {
  const pruned = view.prunings
    .filter(({ position }) => position > anchor.position)
    .flatMap(({ calls }) => calls)
    .filter(({ step }) => step < anchor.step)
    .map(({ step, callId }) => resultSize(history, step, callId, measure))
    .reduce(addSize, noSize);
  if (!isNewTurn || !family.dropsOldReasoning) return pruned;
  const dropped = usage.steps
    .filter(({ step, turn }) => turn === anchor.turn && step < anchor.step)
    .filter(({ step }) => {
      const item = stepItem(history, step);
      return item !== undefined && hasReasoning(item);
    })
    .reduce((sum, step) => sum + (step.usage.reasoningTokens ?? 0), 0);
  return addSize(pruned, { ...noSize, around: dropped });
}

/** What a pruned result had, beyond its placeholder. */
function resultSize(
  history: HistoryState,
  step: number,
  callId: string,
  measure: Meter,
): MessageSize {
  const item = stepItem(history, step);
  if (item === undefined) return noSize;
  const placeholder = measure.text(PRUNED_PLACEHOLDER);
  const sizes = itemMessages(item).flatMap((message) => {
    if (message.role !== "tool") return [];
    const results = message.content.filter(
      (part) => part.type === "tool-result" && part.toolCallId === callId,
    );
    return results.map((part) => {
      const whole = part.type === "tool-result" ? measure.result(part) : noSize;
      return {
        text: whole.text - placeholder.text,
        media: whole.media,
        around: 0,
        bytes: whole.bytes - placeholder.bytes,
      };
    });
  });
  return sizes.reduce(addSize, noSize);
}
