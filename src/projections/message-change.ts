/**
 * The difference between the prompt that `prepareStep` was given and the messages that it returned. Messages
 * that stay are not named. Pure.
 */

import type { ModelMessage } from "ai";
import type { MessageChange, PromptRange, PreparedMessage } from "../events/index.ts";
import type { ContextView } from "./context-view.ts";
import type { HistoryState } from "./history-item.ts";
import {
  editedEntries,
  isWithin,
  noEdit,
  type EditedEntry,
  type PlacedEntry,
} from "./prompt-edit.ts";
import { digestOf } from "./sent-prompt.ts";
import { plainEntries } from "./prompt.ts";

/** @param isWhole - Whether all messages are replaced, even those that stay. */
export function messageChange(
  history: HistoryState,
  view: ContextView,
  messages: readonly ModelMessage[],
  isWhole = false,
): MessageChange {
  const plain = plainEntries(history, view);
  const edit = view.edit ?? noEdit;
  const whole = editedEntries(plain, edit, true);
  const found = isWhole ? messages.map(() => undefined) : matches(whole, messages);
  const kept = new Set(found.flatMap((index) => (index === undefined ? [] : [whole[index]])));
  const isKept = (entry: EditedEntry): boolean => kept.has(entry);
  const hidden = hiddenRanges(plain, isKept);
  const covered = (range: PromptRange): boolean =>
    hidden.some((run) => isWithin(run, range.from) && isWithin(run, range.to));
  const isKnown = (run: PromptRange): boolean =>
    edit.hidden.some((range) => JSON.stringify(range) === JSON.stringify(run));
  const summaries = plain.flatMap((entry) =>
    entry.origin.kind === "summary" && !isKept(entry) ? [entry.origin.position] : [],
  );
  const change = {
    hidden: hidden.filter((run) => !isKnown(run)),
    shown: edit.hidden.filter((range) => !covered(range)),
    removed: whole.flatMap((entry) =>
      "after" in entry && !isKept(entry) ? [{ position: entry.position, index: entry.index }] : [],
    ),
    added: addedMessages(whole, found, messages),
  };
  return {
    ...Object.fromEntries(Object.entries(change).filter(([, list]) => list.length > 0)),
    ...(summaries.join() === edit.summaries.join() ? {} : { summaries }),
  };
}

/** For each message, the index of the known message that it is; undefined for a new one. In order. */
function matches(
  whole: readonly EditedEntry[],
  messages: readonly ModelMessage[],
): readonly (number | undefined)[] {
  const byMessage = Map.groupBy(whole.keys(), (index) => whole[index]?.message);
  let byDigest: Map<string, number[]> | undefined;
  const used = new Map<string | ModelMessage, number>();
  const found = messages.map((message) => {
    const same = byMessage.get(message);
    const key = same === undefined ? digestOf(message) : message;
    if (same === undefined)
      byDigest ??= Map.groupBy(whole.keys(), (index) => digestOf(whole[index]?.message ?? message));
    const candidates = same ?? byDigest?.get(digestOf(message)) ?? [];
    const nth = used.get(key) ?? 0;
    used.set(key, nth + 1);
    return candidates[nth];
  });
  const inOrder = longestRising(found);
  return found.map((index, at) => (inOrder.has(at) ? index : undefined));
}

/** The places of a longest rising series of the numbers: what was moved counts as removed and added. */
function longestRising(numbers: readonly (number | undefined)[]): ReadonlySet<number> {
  /** The place of the smallest last number of a series of each length. */
  const ends: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [place, number] of numbers.entries()) {
    if (number === undefined) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((numbers[ends[middle] ?? -1] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    before[place] = ends[low - 1];
    ends[low] = place;
  }
  const series = new Set<number>();
  for (let place = ends.at(-1); place !== undefined; place = before[place]) series.add(place);
  return series;
}

/** A summary is left out by its own name. */
function hiddenRanges(
  plain: readonly PlacedEntry[],
  isKept: (entry: PlacedEntry) => boolean,
): readonly PromptRange[] {
  const ranges: PromptRange[] = [];
  let isOpen = false;
  for (const entry of plain) {
    if (entry.origin.kind === "summary") continue;
    const last = ranges.at(-1);
    if (isKept(entry)) isOpen = false;
    else if (isOpen && last !== undefined)
      ranges[ranges.length - 1] = { from: last.from, to: entry.place };
    else {
      ranges.push({ from: entry.place, to: entry.place });
      isOpen = true;
    }
  }
  return ranges;
}

function addedMessages(
  whole: readonly EditedEntry[],
  found: readonly (number | undefined)[],
  messages: readonly ModelMessage[],
): NonNullable<MessageChange["added"]> {
  let last: EditedEntry | undefined;
  return messages.flatMap((message, at) => {
    const index = found[at];
    if (index !== undefined) {
      last = whole[index];
      return [];
    }
    const after =
      last === undefined
        ? { place: [0, 0] as const }
        : "after" in last
          ? { position: last.position, index: last.index }
          : { place: last.place };
    // Parsed before: JSON in the form of a message.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return [{ after, message: message as unknown as PreparedMessage }];
  });
}

/** Whether two prompts are the same to the byte. */
export function isSamePrompt(
  one: readonly ModelMessage[],
  other: readonly ModelMessage[],
): boolean {
  return (
    one.length === other.length &&
    one.every((message, index) => {
      const same = other[index];
      return same === message || (same !== undefined && digestOf(same) === digestOf(message));
    })
  );
}
