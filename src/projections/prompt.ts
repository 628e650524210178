/**
 * The messages of the next step, made from the history and the context view. Each item's messages are made
 * once, so only new items cost time.
 */

import type { ModelMessage, UserContent } from "ai";
import {
  commonLength,
  deepFreeze,
  type ModelName,
  type PromptPlace,
  type StoredUserPart,
} from "../events/index.ts";
import type { Compaction, ContextView } from "./context-view.ts";
import { comparePlaces, editedEntries, type PlacedEntry } from "./prompt-edit.ts";
import { type PromptEntry, type PromptOrigin, isTrimmed, stepMessages } from "./prompt-step.ts";
import { coveredBy, itemRanges } from "./compactions.ts";
import type { HistoryItem, HistoryState, UserItem } from "./history-item.ts";
import { promptProblems } from "./prompt-problems.ts";
import { reducedEntries } from "./prompt-reduction.ts";
import { isCompaction, shownItem, showsEverything, type Shown } from "./shown-item.ts";
import {
  continuesReply,
  leavesCallsOpen,
  unansweredCalls,
  withoutUnanswered,
} from "./unanswered-calls.ts";

/** Stays in later prompts: providers would join two replies in a row, and the beginning must not change. */
export const CUT_OFF_NOTE =
  "[Your reply above was cut off before it was complete. Go on from where it stopped.]";

/** One object, so that it is measured and hashed once. */
const cutOffNote: ModelMessage = deepFreeze({ role: "user", content: CUT_OFF_NOTE });

const messagesByItem = new WeakMap<HistoryItem, readonly ModelMessage[]>();

/**
 * The messages of the next prompt, valid for every provider at every position of any log.
 * @example
 * const said = events.reduce(history.fold, history.initial);
 * const view = events.reduce(contextView.fold, contextView.initial);
 * const messages = promptMessages(said, view);
 */
export function promptMessages(history: HistoryState, view: ContextView): readonly ModelMessage[] {
  if (view.edit === undefined && view.reductions === undefined)
    return grownMessages(history, view) ?? collectMessages(history, view);
  return promptEntries(history, view).map(({ message }) => message);
}

export function isPromptTrimmed(history: HistoryState, view: ContextView): boolean {
  return shownItems(history, view).some(
    (shown) => !isCompaction(shown) && shown.kind === "step" && isTrimmed(shown),
  );
}

/** Whether the prompt leaves out a provider's call without a result. */
export function hasUnanswered(history: HistoryState, view: ContextView): boolean {
  return unansweredCalls(itemsInView(history, view), () => wasCutOff(history)).size > 0;
}

const edited = new WeakMap<
  HistoryState,
  { readonly view: ContextView; readonly entries: readonly PromptEntry[] }
>();

/** A log may repeat call ids: requests have others. */
function hasProblems(messages: readonly ModelMessage[]): boolean {
  return promptProblems(messages).some(({ rule }) => rule !== "unique-calls");
}

/** The messages of the next prompt with their sources. */
export function promptEntries(history: HistoryState, view: ContextView): readonly PromptEntry[] {
  return reducedEntries(wholeEntries(history, view), view);
}

/** Before reductions to plain text. */
function wholeEntries(history: HistoryState, view: ContextView): readonly PromptEntry[] {
  const plain = plainEntries(history, view);
  if (view.edit === undefined) return plain;
  const known = edited.get(history);
  if (known?.view === view) return known.entries;
  const entries = editedEntries(plain, view.edit, false);
  // An edit that a later change, such as a compaction, has made invalid is not applied.
  const shown = hasProblems(entries.map(({ message }) => message)) ? plain : entries;
  edited.set(history, { view, entries: shown });
  return shown;
}

/** The messages without what `prepareStep` changed, each with its place in the order of the prompt. */
export function plainEntries(history: HistoryState, view: ContextView): readonly PlacedEntry[] {
  const entries: PlacedEntry[] = [];
  /** The number of the message among those of one position. */
  let part = 0;
  let last: PromptPlace = [0, 0];
  collectMessages(history, view, (message, shown) => {
    const origin = originOf(message, shown);
    const { position } = origin;
    part = position === last[0] ? part + 1 : 0;
    last = placeOf(message, shown, last, part);
    entries.push({ message, origin, place: last });
  });
  return entries;
}

/** A summary has the place of the first item that it covers. */
function placeOf(
  message: ModelMessage,
  shown: Shown,
  before: PromptPlace,
  part: number,
): PromptPlace {
  if (message === cutOffNote) return [shown.position, 2];
  if (isCompaction(shown)) {
    const first: PromptPlace = [shown.from, 0];
    return comparePlaces(before, first) > 0 ? before : first;
  }
  return shown.kind === "step"
    ? [shown.position, message.role === "tool" ? 1 : 0]
    : [shown.position, part];
}

/** `visit` gets each message with its source; the source of a cut-off note is the reply. */
function collectMessages(
  history: HistoryState,
  view: ContextView,
  visit?: Visit,
): readonly ModelMessage[] {
  const told = tell({ messages: [] }, shownItems(history, view), visit);
  return ended(told, history, visit);
}

type Visit = (message: ModelMessage, shown: Shown) => void;

/** What a prompt has said so far, and the reply that it ends with, if it ends with one. */
interface Told {
  readonly messages: ModelMessage[];
  readonly reply?: Shown | undefined;
}

/** Adds the messages of items. */
function tell({ messages, reply }: Told, items: readonly Shown[], visit?: Visit): Told {
  for (const shown of items) {
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
  return { messages, reply };
}

/** A prompt never ends with the model's own reply. */
function ended(
  { messages, reply }: Told,
  history: HistoryState,
  visit?: Visit,
): readonly ModelMessage[] {
  if (reply !== undefined && wasCutOff(history)) {
    messages.push(cutOffNote);
    visit?.(cutOffNote, reply);
  }
  return messages;
}

interface Finished extends Told {
  readonly items: readonly HistoryItem[];
}

/** What the finished items of each session said last, by the first of them: a long session is not gone through again. */
const finished = new WeakMap<HistoryItem, Finished>();

/** The messages of a prompt that shows everything, by those of the prompt before; undefined for any other. */
function grownMessages(
  history: HistoryState,
  view: ContextView,
): readonly ModelMessage[] | undefined {
  const { items } = history;
  const [first] = items;
  if (first === undefined || !showsEverything(view)) return undefined;
  const known = finished.get(first);
  const isGrown = known !== undefined && commonLength(known.items, items) === known.items.length;
  const before = isGrown ? known : { items: [], messages: [] };
  const added = items.slice(before.items.length);
  const running = runningItems(history);
  // A call of the provider may be left out as soon as something follows it.
  if (added.some(leavesCallsOpen) || running.some(leavesCallsOpen)) return undefined;
  const said =
    added.length === 0 ? before : tell({ ...before, messages: [...before.messages] }, added);
  if (said !== before) finished.set(first, { items, ...said });
  return said.messages.concat(ended(tell({ ...said, messages: [] }, running), history));
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

/** The results of a step's calls and all later items. `after`: the position of the step. */
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

/** The finished items, the open step and the note. A summary replaces what its compaction covers. */
function itemsInView(history: HistoryState, view: ContextView): readonly Shown[] {
  const { items } = history;
  const rest = runningItems(history);
  if (showsEverything(view)) return [...items, ...rest];
  const added = new Set<Compaction>();
  const shown: Shown[] = [];
  const addSummary = (by: Compaction): void => {
    if (!added.has(by)) shown.push(by);
    added.add(by);
  };
  for (const { start, end, by } of itemRanges(items, view.compactions)) {
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

function runningItems({ open, note }: HistoryState): readonly HistoryItem[] {
  return [...(open === undefined ? [] : [open]), ...(note === undefined ? [] : [note])];
}

function messagesOf(shown: Shown): readonly ModelMessage[] {
  return isCompaction(shown) ? summaryMessages(shown) : itemMessages(shown);
}

const summaries = new WeakMap<Compaction, readonly ModelMessage[]>();

/** Made once, so that it is measured and hashed once. */
function summaryMessages(by: Compaction): readonly ModelMessage[] {
  const known = summaries.get(by);
  if (known !== undefined) return known;
  const messages = deepFreeze(
    by.summary === "" ? [] : [{ role: "user", content: by.summary } as const],
  );
  summaries.set(by, messages);
  return messages;
}

/** The same frozen objects each time. They share content with the item: no reader may change it. */
export function itemMessages(item: HistoryItem): readonly ModelMessage[] {
  const known = messagesByItem.get(item);
  if (known !== undefined) return known;
  const messages = deepFreeze(makeMessages(item));
  messagesByItem.set(item, messages);
  return messages;
}

const models = new WeakMap<ModelMessage, ModelName>();

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
