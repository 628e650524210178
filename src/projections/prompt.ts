/**
 * The prompt: the messages that the next step sends, made from the history and the context view.
 * Messages of an item are made once and kept with it, so a prompt costs what is new since the last.
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
 * Told when a reply was cut off and the same turn goes on. It stays where it is: two replies in a
 * row would be taken for one, and what was sent once is sent again the same.
 */
export const CUT_OFF_NOTE =
  "[Your reply above was cut off before it was complete. Go on from where it stopped.]";

/** One object, so that it is hashed once. */
const cutOffNote: ModelMessage = deepFreeze({ role: "user", content: CUT_OFF_NOTE });

const made = new WeakMap<HistoryItem, readonly ModelMessage[]>();

/** Where a message of a prompt comes from: the same for as long as it stands for the same thing. */
export type PromptOrigin =
  | { readonly kind: "user"; readonly position: number; readonly id: string }
  /** What the model said in a step, or what its calls came to. */
  | { readonly kind: "step"; readonly position: number; readonly role: ModelMessage["role"] }
  /** What the model is told by us: that it is to conclude. */
  | { readonly kind: "note"; readonly position: number }
  /** The summary that a compaction (by its position) put in the place of what it covers. */
  | { readonly kind: "summary"; readonly position: number }
  /** The note after a step that was cut off. */
  | { readonly kind: "cut-off-note"; readonly position: number };

/** A message of a prompt, and where it comes from. */
export interface PromptEntry {
  readonly message: ModelMessage;
  readonly origin: PromptOrigin;
}

/** The messages of a prompt at this point, valid for every provider at every position of any log. */
export function promptMessages(history: HistoryState, view: ContextView): readonly ModelMessage[] {
  return gather(history, view);
}

/** Whether the prompt would be another one if no reasoning had been taken out of the log. */
export function isPromptTrimmed(history: HistoryState, view: ContextView): boolean {
  return shownItems(history, view).some(
    (shown) => !isCompaction(shown) && shown.kind === "step" && isTrimmed(shown),
  );
}

/** Whether the prompt leaves out a call that its provider ran and never answered. */
export function hasUnanswered(history: HistoryState, view: ContextView): boolean {
  return unansweredCalls(itemsInView(history, view), () => wasCutOff(history)).size > 0;
}

/** The same, each with where it comes from. */
export function promptEntries(history: HistoryState, view: ContextView): readonly PromptEntry[] {
  const entries: PromptEntry[] = [];
  gather(history, view, (message, shown) => {
    entries.push({ message, origin: originOf(message, shown) });
  });
  return entries;
}

/** The messages; `tell` is told of each what it is of, of a note after a reply that reply. */
function gather(
  history: HistoryState,
  view: ContextView,
  tell?: (message: ModelMessage, shown: Shown) => void,
): readonly ModelMessage[] {
  const messages: ModelMessage[] = [];
  let reply: Shown | undefined;
  for (const shown of shownItems(history, view)) {
    for (const message of messagesOf(shown)) {
      const isReply = message.role === "assistant";
      if (isReply && reply !== undefined && !continuesReply(reply, shown)) {
        messages.push(cutOffNote);
        tell?.(cutOffNote, reply);
      }
      messages.push(message);
      tell?.(message, shown);
      reply = isReply ? shown : undefined;
    }
  }
  // A prompt never ends with the model's own words.
  if (reply !== undefined && wasCutOff(history)) {
    messages.push(cutOffNote);
    tell?.(cutOffNote, reply);
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
 * What the prompt has that a step was not given, after it: the results of its own calls and every
 * later item that is shown. `after` is the position of that step.
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

/** What a prompt is made of: without calls of the provider's that it takes back no more. */
function shownItems(history: HistoryState, view: ContextView): readonly Shown[] {
  return withoutUnanswered(itemsInView(history, view), () => wasCutOff(history));
}

/**
 * What is over, the step that is open, what is said to the model at the end. The items that a
 * compaction covers give way to its summary, at the place of the first of them.
 */
function itemsInView({ items, open, note }: HistoryState, view: ContextView): readonly Shown[] {
  const rest = [...(open === undefined ? [] : [open]), ...(note === undefined ? [] : [note])];
  if (showsEverything(view)) return [...items, ...rest];
  const told = new Set<Compaction>();
  const shown: Shown[] = [];
  const tell = (by: Compaction): void => {
    if (!told.has(by)) shown.push(by);
    told.add(by);
  };
  for (const { start, end, by } of itemRuns(items, view.compactions)) {
    if (by === undefined) {
      for (const item of items.slice(start, end)) shown.push(shownItem(item, view));
    } else tell(by);
  }
  for (const item of rest) {
    const by = coveredBy(view.compactions, item.position);
    if (by === undefined) shown.push(shownItem(item, view));
    else tell(by);
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
 * The messages of one item; the same objects each time, as items never change once they are over. They are
 * frozen with all that they share with the item, so that no reader of a prompt changes the session.
 */
export function itemMessages(item: HistoryItem): readonly ModelMessage[] {
  const known = made.get(item);
  if (known !== undefined) return known;
  const messages = deepFreeze(makeMessages(item));
  made.set(item, messages);
  return messages;
}

const makers = new WeakMap<ModelMessage, ModelName>();

/** Which model has said a message of a prompt; undefined for what none has said. */
export function modelOf(message: ModelMessage): ModelName | undefined {
  return makers.get(message);
}

function makeMessages(item: HistoryItem): readonly ModelMessage[] {
  switch (item.kind) {
    case "user":
      return userMessages(item);
    case "step": {
      const messages = stepMessages(item);
      for (const message of messages) makers.set(message, item.model);
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

/** The model is told the name of a file of text in the text. */
function sentPart(part: StoredUserPart): Exclude<UserContent, string>[number] {
  if (part.type !== "text") return part;
  const { filename: _, ...text } = part;
  return text;
}
