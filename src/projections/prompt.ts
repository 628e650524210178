/**
 * The prompt: the messages of the next step, made from the history and the context view. The messages of
 * an item are made once, so only new items cost time. Called before each step, and to show a prompt.
 */

import type { ModelMessage, UserContent } from "ai";
import { deepFreeze, type ModelName, type StoredUserPart } from "../events/index.ts";
import type { Compaction, ContextView } from "./context-view.ts";
import { coveredBy, itemRuns } from "./covered.ts";
import type { HistoryItem, HistoryState, UserItem } from "./history-item.ts";
import { isTrimmed, stepMessages } from "./prompt-step.ts";
import { isCompaction, shownItem, showsEverything, type Shown } from "./shown-item.ts";
import { continuesReply, unansweredCalls, withoutUnanswered } from "./unanswered-calls.ts";

/**
 * The note after a reply that was cut off. It stays in later prompts: providers would join two replies in
 * a row, and the beginning of a prompt must not change.
 */
export const CUT_OFF_NOTE =
  "[Your reply above was cut off before it was complete. Go on from where it stopped.]";

/** One object, so that it is measured and hashed once. */
const cutOffNote: ModelMessage = deepFreeze({ role: "user", content: CUT_OFF_NOTE });

const messagesByItem = new WeakMap<HistoryItem, readonly ModelMessage[]>();

/** The source of a message of a prompt. */
export type PromptOrigin =
  | { readonly kind: "user"; readonly position: number; readonly id: string }
  /** The model's output in a step, or the results of its calls. */
  | { readonly kind: "step"; readonly position: number; readonly role: ModelMessage["role"] }
  /** The note that the model should conclude. */
  | { readonly kind: "note"; readonly position: number }
  /** The summary of the compaction at a position. */
  | { readonly kind: "summary"; readonly position: number }
  /** The note after a step that was cut off. */
  | { readonly kind: "cut-off-note"; readonly position: number };

/** A message of a prompt and its source. */
export interface PromptEntry {
  readonly message: ModelMessage;
  readonly origin: PromptOrigin;
}

/** The messages of the next prompt, valid for every provider at every position of any log. */
export function promptMessages(history: HistoryState, view: ContextView): readonly ModelMessage[] {
  return collectMessages(history, view);
}

/** Whether trimming of reasoning changed the prompt. */
export function isPromptTrimmed(history: HistoryState, view: ContextView): boolean {
  return shownItems(history, view).some(
    (shown) => !isCompaction(shown) && shown.kind === "step" && isTrimmed(shown),
  );
}

/** Whether the prompt leaves out a provider's call without a result. */
export function hasUnanswered(history: HistoryState, view: ContextView): boolean {
  return unansweredCalls(itemsInView(history, view), () => wasCutOff(history)).size > 0;
}

/** The messages of the next prompt with their sources. */
export function promptEntries(history: HistoryState, view: ContextView): readonly PromptEntry[] {
  const entries: PromptEntry[] = [];
  collectMessages(history, view, (message, shown) => {
    entries.push({ message, origin: originOf(message, shown) });
  });
  return entries;
}

/** Collects the messages. `visit` gets each one with its source; the source of a cut-off note is the reply. */
function collectMessages(
  history: HistoryState,
  view: ContextView,
  visit?: (message: ModelMessage, shown: Shown) => void,
): readonly ModelMessage[] {
  const messages: ModelMessage[] = [];
  let reply: Shown | undefined;
  for (const shown of shownItems(history, view)) {
    for (const message of messagesOf(shown)) {
      const isReply = message.role === "assistant";
      if (isReply && reply !== undefined && !continuesReply(reply, shown)) {
        messages.push(cutOffNote);
        visit?.(cutOffNote, reply);
      }
      messages.push(message);
      visit?.(message, shown);
      reply = isReply ? shown : undefined;
    }
  }
  // A prompt never ends with the model's own reply.
  if (reply !== undefined && wasCutOff(history)) {
    messages.push(cutOffNote);
    visit?.(cutOffNote, reply);
  }
  return messages;
}

function originOf(message: ModelMessage, shown: Shown): PromptOrigin {
  const { position } = shown;
  if (message === cutOffNote) return { kind: "cut-off-note", position };
  if ("summary" in shown) return { kind: "summary", position };
  switch (shown.kind) {
    case "user":
      return { kind: "user", position, id: shown.id };
    case "note":
      return { kind: "note", position };
    case "step":
    case "turn-end":
      return { kind: "step", position, role: message.role };
  }
}

/**
 * Messages that came after the prompt of a step: the results of its calls and all later items.
 * @param after - The position of the step.
 */
export function messagesSince(
  history: HistoryState,
  view: ContextView,
  after: number,
): readonly ModelMessage[] {
  const first = history.items.findLastIndex((item) => item.position <= after);
  const rest = { ...history, items: history.items.slice(Math.max(0, first)) };
  return shownItems(rest, view).flatMap((shown) => {
    const messages = messagesOf(shown);
    if (isCompaction(shown) || shown.position > after) return messages;
    return shown.position === after ? messages.filter(({ role }) => role === "tool") : [];
  });
}

function wasCutOff({ items, open }: HistoryState): boolean {
  const last = open ?? items.findLast((item) => item.kind === "step");
  return last?.kind === "step" && (last.status === "interrupted" || last.status === "failed");
}

/** The items of the prompt, without provider calls that the provider would refuse. */
function shownItems(history: HistoryState, view: ContextView): readonly Shown[] {
  return withoutUnanswered(itemsInView(history, view), () => wasCutOff(history));
}

/**
 * The finished items, the open step and the note. A compaction's summary replaces the items that it
 * covers, at the first of them.
 */
function itemsInView({ items, open, note }: HistoryState, view: ContextView): readonly Shown[] {
  const rest = [...(open === undefined ? [] : [open]), ...(note === undefined ? [] : [note])];
  if (showsEverything(view)) return [...items, ...rest];
  const added = new Set<Compaction>();
  const shown: Shown[] = [];
  const addSummary = (by: Compaction): void => {
    if (!added.has(by)) shown.push(by);
    added.add(by);
  };
  for (const { start, end, by } of itemRuns(items, view.compactions)) {
    if (by === undefined) {
      for (const item of items.slice(start, end)) shown.push(shownItem(item, view));
    } else addSummary(by);
  }
  for (const item of rest) {
    const by = coveredBy(view.compactions, item.position);
    if (by === undefined) shown.push(shownItem(item, view));
    else addSummary(by);
  }
  return shown;
}

function messagesOf(shown: Shown): readonly ModelMessage[] {
  return isCompaction(shown) ? summaryMessages(shown) : itemMessages(shown);
}

const summaries = new WeakMap<Compaction, readonly ModelMessage[]>();

/** One object for each compaction, so that it is measured and hashed once. */
function summaryMessages(by: Compaction): readonly ModelMessage[] {
  const known = summaries.get(by);
  if (known !== undefined) return known;
  const messages = deepFreeze(
    by.summary === "" ? [] : [{ role: "user", content: by.summary } as const],
  );
  summaries.set(by, messages);
  return messages;
}

/**
 * The messages of one item: the same frozen objects each time. They share content with the item, so
 * freezing keeps readers of a prompt from changing the session.
 */
export function itemMessages(item: HistoryItem): readonly ModelMessage[] {
  const known = messagesByItem.get(item);
  if (known !== undefined) return known;
  const messages = deepFreeze(makeMessages(item));
  messagesByItem.set(item, messages);
  return messages;
}

const models = new WeakMap<ModelMessage, ModelName>();

/** The model that wrote a message of a prompt; undefined for other messages. */
export function modelOf(message: ModelMessage): ModelName | undefined {
  return models.get(message);
}

function makeMessages(item: HistoryItem): readonly ModelMessage[] {
  switch (item.kind) {
    case "user":
      return userMessages(item);
    case "step": {
      const messages = stepMessages(item);
      for (const message of messages) models.set(message, item.model);
      return messages;
    }
    case "note":
      return [{ role: "user", content: item.text }];
    case "turn-end":
      return [];
  }
}

function userMessages({ content }: UserItem): readonly ModelMessage[] {
  const sent: UserContent =
    typeof content === "string"
      ? content
      : content.filter((part) => part.type !== "text" || part.text.trim() !== "").map(sentPart);
  return sent.length === 0 ? [] : [{ role: "user", content: sent }];
}

/** The text of a text file contains its name already. */
function sentPart(part: StoredUserPart): Exclude<UserContent, string>[number] {
  if (part.type !== "text") return part;
  const { filename: _, ...text } = part;
  return text;
}
