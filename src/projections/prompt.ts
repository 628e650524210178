/**
 * The prompt: the messages that the next step sends, made from the history and the context view.
 * Messages of an item are made once and kept with it, so a prompt costs what is new since the last.
 */

import type { ModelMessage, UserContent } from "ai";
import type { ContextView } from "./context-view.ts";
import type { HistoryItem, HistoryState, UserItem } from "./history-item.ts";
import { stepMessages } from "./prompt-step.ts";

/**
 * Told when a reply was cut off and the same turn goes on. It stays where it is: two replies in a
 * row would be taken for one, and what was sent once is sent again the same.
 */
export const CUT_OFF_NOTE =
  "[Your reply above was cut off before it was complete. Go on from where it stopped.]";

/** One object, so that it is hashed once. */
const cutOffNote: ModelMessage = { role: "user", content: CUT_OFF_NOTE };

/** What stands in the place of a tool result that was pruned. */
export const PRUNED_PLACEHOLDER = "[Old tool result content cleared]";

const made = new WeakMap<HistoryItem, readonly ModelMessage[]>();

/** Where a message of a prompt comes from: the same for as long as it stands for the same thing. */
export type PromptOrigin =
  | { readonly kind: "user"; readonly position: number; readonly id: string }
  /** What the model said in a step, or what its calls came to. */
  | { readonly kind: "step"; readonly position: number; readonly role: ModelMessage["role"] }
  /** The summary that a compaction (by its position) put in the place of what it covers. */
  | { readonly kind: "summary"; readonly position: number }
  /** The note after a step that was cut off. */
  | { readonly kind: "cut-off-note"; readonly position: number };

export interface PromptEntry {
  readonly message: ModelMessage;
  readonly origin: PromptOrigin;
}

/** The messages of a prompt at this point, valid for every provider at every position of any log. */
export function promptMessages(history: HistoryState, view: ContextView): readonly ModelMessage[] {
  return promptEntries(history, view).map(({ message }) => message);
}

/** The same, each with where it comes from. */
export function promptEntries(history: HistoryState, view: ContextView): readonly PromptEntry[] {
  const items = history.open === undefined ? history.items : [...history.items, history.open];
  const entries: PromptEntry[] = [];
  const addNote = (last: PromptEntry | undefined): void => {
    if (last?.message.role !== "assistant") return;
    const { position } = last.origin;
    entries.push({ message: cutOffNote, origin: { kind: "cut-off-note", position } });
  };
  for (const shown of shownItems(items, view)) {
    const own = "summary" in shown ? summaryMessages(shown.summary) : itemMessages(shown);
    for (const message of own) {
      if (message.role === "assistant") addNote(entries.at(-1));
      entries.push({ message, origin: originOf(shown, message) });
    }
  }
  // A prompt never ends with the model's own words.
  if (wasCutOff(items)) addNote(entries.at(-1));
  return entries;
}

function originOf(shown: Shown, { role }: ModelMessage): PromptOrigin {
  const { position } = shown;
  if ("summary" in shown) return { kind: "summary", position };
  return shown.kind === "user"
    ? { kind: "user", position, id: shown.id }
    : { kind: "step", position, role };
}

function wasCutOff(items: readonly HistoryItem[]): boolean {
  const last = items.findLast((item) => item.kind === "step");
  return last?.status === "interrupted" || last?.status === "failed";
}

type Shown = HistoryItem | { readonly summary: string; readonly position: number };

/** The items that a compaction covers give way to its summary, at the place of the first of them. */
function shownItems(items: readonly HistoryItem[], view: ContextView): readonly Shown[] {
  const { compactions, prunings } = view;
  if (compactions.length === 0 && prunings.length === 0) return items;
  const told = new Set<number>();
  return items.flatMap((item): readonly Shown[] => {
    // The newest wins: a later compaction reads the summary of the one before it.
    const by = compactions.findLast(({ from, to }) => from <= item.position && item.position <= to);
    if (by === undefined) return [withPruned(item, view)];
    if (told.has(by.position)) return [];
    told.add(by.position);
    return [{ summary: by.summary, position: by.position }];
  });
}

function withPruned(item: HistoryItem, { prunings }: ContextView): HistoryItem {
  if (item.kind !== "step" || prunings.length === 0) return item;
  const calls = new Set(
    prunings.flatMap((pruning) =>
      pruning.calls.flatMap((call) => (call.step === item.step ? [call.callId] : [])),
    ),
  );
  if (calls.size === 0) return item;
  return {
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
}

function summaryMessages(summary: string): readonly ModelMessage[] {
  return summary === "" ? [] : [{ role: "user", content: summary }];
}

/** The messages of one item; the same objects each time, as items never change once they are over. */
export function itemMessages(item: HistoryItem): readonly ModelMessage[] {
  const known = made.get(item);
  if (known !== undefined) return known;
  const messages = makeMessages(item);
  made.set(item, messages);
  return messages;
}

function makeMessages(item: HistoryItem): readonly ModelMessage[] {
  switch (item.kind) {
    case "user":
      return userMessages(item);
    case "step":
      return stepMessages(item);
    case "turn-end":
      return [];
  }
}

function userMessages({ content }: UserItem): readonly ModelMessage[] {
  const sent: UserContent =
    typeof content === "string"
      ? content
      : content.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return sent.length === 0 ? [] : [{ role: "user", content: sent }];
}
