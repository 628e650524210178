/**
 * Provider calls whose results come in a later step (`supportsDeferredResults`), as Anthropic's `pause_turn`
 * leaves them. The turn continues while one waits. Pure.
 */

import type { ContextView } from "./context-view.ts";
import type { HistoryState, StepItem } from "./history-item.ts";
import { saysNothing } from "./prompt-step.ts";
import { promptMessages } from "./prompt.ts";

/** Empty replies in a row after which nothing more is expected of the provider. */
const MOST_EMPTY_REPLIES = 3;

/**
 * The calls that wait, once the open step has finished, except those that the next prompt leaves out: the
 * provider would not find them.
 * @param isDeferring - Whether a tool may give its result in a later step.
 */
export function deferredCalls(
  { open, ...history }: HistoryState,
  view: ContextView,
  isDeferring: (toolName: string) => boolean,
): readonly string[] {
  if (open === undefined || isStuck(open, history.items)) return [];
  const step: StepItem = { ...open, status: "finished" };
  const waiting = new Set<string>();
  for (const { role, content } of promptMessages({ ...history, open: step }, view)) {
    if (role !== "assistant" || typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-result") waiting.delete(part.toolCallId);
      else if (
        part.type === "tool-call" &&
        part.providerExecuted === true &&
        isDeferring(part.toolName)
      )
        waiting.add(part.toolCallId);
    }
  }
  return [...waiting];
}

/** The ids of all provider calls of the turn without a result, before the open step, oldest first. */
export function awaitedCalls({ items, turn }: HistoryState): readonly string[] {
  const waiting = new Set<string>();
  for (const item of items.slice(items.findLastIndex((one) => one.turn !== turn) + 1)) {
    // The provider does not know a call that was cut off.
    if (item.kind !== "step" || item.status !== "finished") continue;
    for (const part of item.parts) {
      if (part.kind === "provider-call") waiting.add(part.callId);
      else if (part.kind === "provider-result") waiting.delete(part.callId);
    }
  }
  return [...waiting];
}

/**
 * What a step has put out, in all of its attempts: words and calls that can be kept, or effects whose outcome only the
 * provider knows that ran the call.
 */
export function outputOf(history: HistoryState, step: number): "nothing" | "words" | "effects" {
  const { items, open } = history;
  const parts = [...items, ...(open === undefined ? [] : [open])].flatMap((item) =>
    item.kind === "step" && item.step === step ? item.parts : [],
  );
  const results = new Set(
    parts.flatMap((part) => (part.kind === "provider-result" ? [part.callId] : [])),
  );
  const isUnknown = parts.some(
    (part) => part.kind === "provider-call" && !results.has(part.callId),
  );
  if (isUnknown || awaitedCalls(history).length > 0) return "effects";
  return saysNothing(parts) ? "nothing" : "words";
}

/** Whether the provider has sent nothing for some replies. The history leaves out steps without parts. */
function isStuck({ step, parts }: StepItem, items: HistoryState["items"]): boolean {
  const last = items.findLast((item) => item.kind === "step");
  return parts.length === 0 && last !== undefined && step - last.step >= MOST_EMPTY_REPLIES;
}
