/**
 * Compares two prompts: which messages were added, removed or changed, why, and how far the provider's prompt
 * cache still fits. Pure.
 */

import type { ModelMessage } from "ai";
import type { ContextView } from "./context-view.ts";
import { coveredBy, firstFrom } from "./compactions.ts";
import type { HistoryItem, HistoryState } from "./history-item.ts";
import { itemMedia, omittedIn } from "./shown-media.ts";
import type { PromptEntry, PromptOrigin } from "./prompt-step.ts";
import { refusedMedia } from "./shown-item.ts";
import { isHidden } from "./prompt-edit.ts";
import { plainEntries, promptEntries } from "./prompt.ts";
import {
  standingPrompt,
  type PromptText,
  type PromptTool,
  type StandingPrompt,
} from "./sent-prompt.ts";
import type { StandingState } from "./standing.ts";
import { type JsonValue, parsedJson } from "../events/index.ts";

export interface PromptSource {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly standing: StandingState;
  readonly summary: { readonly agentDigest?: string };
}

/**
 * Why a message differs between the prompts:
 * - `new`: it is later than the first prompt; `gone`: it is later than the second one.
 * - `continued`: its step was still running; a note is no longer needed, since the turn continued.
 * - `cut-off`: its step failed or was interrupted, or it is the note about that.
 * - `cut`: long tool results are shown by their beginning and their end.
 * - `pruned`: a placeholder replaces tool results.
 * - `media-omitted`: notes replace its media, since the request was too large.
 * - `compacted`: a summary replaces it, or it is the summary.
 * - `reduced`: the provider refused it: it is plain text, left out, or without its media.
 * - `prepared`: `prepareStep` added it, or leaves it out until its turn ends.
 * - `restored`: a pruning, cut, omission, reduction or compaction was undone.
 */
type PromptChangeReason =
  | "new"
  | "gone"
  | "continued"
  | "cut-off"
  | "cut"
  | "pruned"
  | "media-omitted"
  | "compacted"
  | "reduced"
  | "prepared"
  | "restored";

interface Change {
  readonly why: PromptChangeReason;
  readonly origin: PromptOrigin;
}

/** `index` counts from 0 in the prompt that has the message. */
export type PromptChange =
  | (Change & {
      readonly kind: "added" | "removed";
      readonly index: number;
      readonly message: ModelMessage;
    })
  | (Change & {
      readonly kind: "changed";
      /** In the second prompt. */
      readonly index: number;
      readonly before: ModelMessage;
      readonly after: ModelMessage;
    });

export interface PromptDiff {
  /** The number of messages of each prompt. */
  readonly lengths: { readonly before: number; readonly after: number };
  /** In the order of the prompts. */
  readonly changes: readonly PromptChange[];
  /** Whether model, instructions or tool definitions differ. */
  readonly agentChanged: boolean;
  /** What differs besides the messages. */
  readonly standing: readonly StandingChange[];
  /** The first message, by its index in `after`, that a cache of `before` does not fit; absent if all fits. */
  readonly cacheBreak?: number;
}

interface Prompt extends PromptSource {
  readonly entries: readonly PromptEntry[];
  /** The index of the message of each origin. */
  readonly indexes: ReadonlyMap<string, number>;
  /** The origins of the messages that a reduction sends as plain text, or leaves out. */
  readonly reduced: ReadonlySet<string>;
  /** The last position of the history. */
  readonly reached: number;
  /** Pruned calls of each step, and cuts of any of its calls. */
  readonly pruned: ReadonlyMap<number, number>;
  readonly cut: ReadonlyMap<number, number>;
}

/** Compares the prompts that a step would send at two positions. */
export function promptDiff(before: PromptSource, after: PromptSource): PromptDiff {
  const [one, other] = [promptOf(before), promptOf(after)];
  const standing = standingChanges(standingPrompt(before), standingPrompt(after));
  const agentChanged =
    before.summary.agentDigest !== after.summary.agentDigest ||
    standing.some(({ part }) => part !== "settings");
  const cacheBreak = agentChanged ? 0 : firstDifference(one.entries, other.entries);
  return {
    lengths: { before: one.entries.length, after: other.entries.length },
    changes: changesBetween(one, other),
    agentChanged,
    standing,
    ...(cacheBreak === undefined ? {} : { cacheBreak }),
  };
}

function promptOf(source: PromptSource): Prompt {
  const entries = promptEntries(source.history, source.view);
  const indexes = new Map(entries.map(({ origin }, index) => [keyOf(origin), index]));
  const { items, open, note } = source.history;
  const { prunings, cuts } = source.view;
  return {
    ...source,
    entries,
    indexes,
    reduced: reducedOrigins(source, indexes),
    reached: Math.max(0, ...[items.at(-1), open, note].map((item) => item?.position ?? 0)),
    pruned: callsByStep([prunings.flatMap(({ calls }) => calls)]),
    // A result that is cut again, shorter, counts again.
    cut: callsByStep(cuts.filter(({ undone }) => undone !== true).map(({ calls }) => calls)),
  };
}

function reducedOrigins(
  { history, view: { reductions, ...whole } }: PromptSource,
  indexes: Prompt["indexes"],
): ReadonlySet<string> {
  if (reductions === undefined) return new Set();
  const keys = promptEntries(history, whole).map(({ origin }) => keyOf(origin));
  return new Set(keys.filter((key) => !indexes.has(key)));
}

/** For each step, the number of its calls in all lists. */
function callsByStep(lists: readonly (readonly StepCall[])[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const calls of lists) {
    for (const [step, ofStep] of Map.groupBy(calls, ({ step }) => step)) {
      const different = new Set(ofStep.map(({ callId }) => callId)).size;
      counts.set(step, (counts.get(step) ?? 0) + different);
    }
  }
  return counts;
}

interface StepCall {
  readonly step: number;
  readonly callId: string;
}

/** Messages with the same key have the same origin. */
function keyOf(origin: PromptOrigin): string {
  switch (origin.kind) {
    case "user":
      return `user ${origin.position} ${origin.id}`;
    case "step":
      return `step ${origin.position} ${origin.role}`;
    case "note":
    case "summary":
    case "as-text":
    case "cut-off-note":
      return `${origin.kind} ${origin.position}`;
    case "prepared":
      return `${origin.kind} ${origin.position} ${origin.index}`;
  }
}

function firstDifference(
  before: readonly PromptEntry[],
  after: readonly PromptEntry[],
): number | undefined {
  const index = after.findIndex((entry, entryIndex) => {
    const cached = before[entryIndex];
    return cached !== undefined && !isSame(cached.message, entry.message);
  });
  return index === -1 ? undefined : index;
}

/** Compared to the byte, as a provider's cache does. */
function isSame(one: ModelMessage, other: ModelMessage): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function changesBetween(before: Prompt, after: Prompt): readonly PromptChange[] {
  const changes: PromptChange[] = [];
  let index = 0;
  const addUpTo = (end: number): void => {
    for (const { message, origin } of after.entries.slice(index, end)) {
      changes.push({ kind: "added", index, message, origin, why: whyAdded(origin, before) });
      index += 1;
    }
  };
  for (const [oldIndex, { message, origin }] of before.entries.entries()) {
    const kept = after.indexes.get(keyOf(origin));
    // Overlapping summaries may change their order: a message that moved back counts as removed.
    const entry = kept === undefined || kept < index ? undefined : after.entries[kept];
    if (kept === undefined || entry === undefined) {
      const why = whyRemoved(origin, after);
      changes.push({ kind: "removed", index: oldIndex, message, origin, why });
      continue;
    }
    addUpTo(kept);
    if (!isSame(message, entry.message)) {
      const why = whyChanged(origin, before, after);
      changes.push({ kind: "changed", index, before: message, after: entry.message, origin, why });
    }
    index += 1;
  }
  addUpTo(after.entries.length);
  return changes;
}

function whyAdded(origin: PromptOrigin, before: Prompt): PromptChangeReason {
  if (origin.kind === "prepared") return "prepared";
  if (origin.kind === "as-text") return "reduced";
  if (isReduced(before, origin)) return "restored";
  if (origin.kind === "cut-off-note") return "cut-off";
  if (origin.kind === "summary") return hasCompaction(before, origin) ? "restored" : "compacted";
  if (isCovered(before, origin)) return "restored";
  if (isLeftOut(before, origin)) return "prepared";
  return hasReached(before, origin) ? "continued" : "new";
}

function whyRemoved(origin: PromptOrigin, after: Prompt): PromptChangeReason {
  if (isReduced(after, origin)) return "reduced";
  if (origin.kind === "as-text") return "restored";
  if (origin.kind === "prepared" || isLeftOut(after, origin)) return "prepared";
  if (origin.kind === "summary") return hasCompaction(after, origin) ? "compacted" : "restored";
  if (isCovered(after, origin)) return "compacted";
  return hasReached(after, origin) ? "continued" : "gone";
}

function whyChanged(origin: PromptOrigin, before: Prompt, after: Prompt): PromptChangeReason {
  const [old, item] = [itemAt(before, origin), itemAt(after, origin)];
  const [wasPruned, isPruned] = [countOf(before.pruned, old), countOf(after.pruned, item)];
  if (isPruned !== wasPruned) return isPruned > wasPruned ? "pruned" : "restored";
  const [wasCut, isCut] = [countOf(before.cut, old), countOf(after.cut, item)];
  if (isCut !== wasCut) return isCut > wasCut ? "cut" : "restored";
  const [wasLeftOut, isLeftOut] = [omittedOf(before, old), omittedOf(after, item)];
  if (isLeftOut !== wasLeftOut) return isLeftOut > wasLeftOut ? "media-omitted" : "restored";
  if (isCutOff(item) && !isCutOff(old)) return "cut-off";
  const [less, more] = [before, after].map((one) => refusedOf(one, item));
  if (more !== less) return (more ?? 0) > (less ?? 0) ? "reduced" : "restored";
  return "continued";
}

/** How many media of an item are left out as refused. */
function refusedOf({ view }: Prompt, item: HistoryItem | undefined): number {
  return refusedMedia(view).filter(({ position }) => position === item?.position).length;
}

function isReduced({ reduced }: Prompt, origin: PromptOrigin): boolean {
  return reduced.has(keyOf(origin));
}

/** Several messages may have the position of one delivery. */
function itemAt({ history }: Prompt, origin: PromptOrigin): HistoryItem | undefined {
  const { items, open, note } = history;
  const { position } = origin;
  if (open?.position === position) return open;
  if (note?.position === position) return note;
  const isIt = (item: HistoryItem): boolean =>
    item.kind !== "user" || origin.kind !== "user" || item.id === origin.id;
  for (let index = firstFrom(items, position); items[index]?.position === position; index++) {
    const item = items[index];
    if (item !== undefined && isIt(item)) return item;
  }
  return undefined;
}

function hasReached({ reached }: Prompt, { position }: PromptOrigin): boolean {
  return reached >= position;
}

function isCutOff(item: HistoryItem | undefined): boolean {
  return item?.kind === "step" && (item.status === "failed" || item.status === "interrupted");
}

function hasCompaction({ view }: Prompt, { position }: PromptOrigin): boolean {
  return view.compactions.some((compaction) => compaction.position === position);
}

function isCovered({ view }: Prompt, { position }: PromptOrigin): boolean {
  return coveredBy(view.compactions, position) !== undefined;
}

function isLeftOut({ history, view }: Prompt, origin: PromptOrigin): boolean {
  const { edit } = view;
  if (edit === undefined) return false;
  const key = keyOf(origin);
  return plainEntries(history, view).some(
    (entry) => keyOf(entry.origin) === key && isHidden(edit, entry),
  );
}

function omittedOf({ view }: Prompt, item: HistoryItem | undefined): number {
  const omitted = view.omissions.at(-1)?.omitted;
  return item === undefined ? 0 : Math.min(omittedIn(item, omitted), itemMedia(item).length);
}

function countOf(counts: ReadonlyMap<number, number>, item: HistoryItem | undefined): number {
  return item?.kind === "step" ? (counts.get(item.step) ?? 0) : 0;
}

// What differs between two prompts besides their messages, and in which lines. Pure.

/** A difference besides the messages. A part without texts is one of an earlier release: only its digest differs. */
export type StandingChange =
  | {
      readonly part: "instructions" | "tool" | "settings";
      readonly kind: "added" | "removed" | "changed";
      /** Of the tool. */
      readonly name?: string;
      readonly lines?: ChangedLines;
    }
  | {
      readonly part: "tools";
      readonly kind: "reordered";
      /** The names of the tools that both prompts have. */
      readonly before: readonly string[];
      readonly after: readonly string[];
    };

/** The lines between the common beginning and the common end of two texts. JSON is written with indents. */
interface ChangedLines {
  /** The number of the first one, from 1. */
  readonly from: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export function standingChanges(
  before: StandingPrompt,
  after: StandingPrompt,
): readonly StandingChange[] {
  const changes: StandingChange[] = [];
  // Earlier releases recorded no digests of the parts.
  if (isOther(before.instructions, after.instructions))
    changes.push({
      part: "instructions",
      kind: "changed",
      ...linesOf(before.instructions, after.instructions),
    });
  const [old, present] = [toolsByName(before), toolsByName(after)];
  for (const [name, tool] of old) {
    const now = present.get(name);
    if (now === undefined) changes.push({ part: "tool", kind: "removed", name });
    else if (isOther(tool, now))
      changes.push({ part: "tool", kind: "changed", name, ...linesOf(tool, now) });
  }
  for (const name of present.keys())
    if (!old.has(name)) changes.push({ part: "tool", kind: "added", name });
  const isKept = (name: string): boolean => old.has(name) && present.has(name);
  const [one = [], other = []] = [old, present].map((tools) => [...tools.keys()].filter(isKept));
  if (one.some((name, place) => name !== other[place]))
    changes.push({ part: "tools", kind: "reordered", before: one, after: other });
  const [was, is] = [before, after].map(({ settings }) => textOf(settings));
  if (was !== undefined && is !== undefined && was !== is)
    changes.push({ part: "settings", kind: "changed", lines: changedLines(was, is) });
  return changes;
}

function isOther({ digest: was }: PromptText, { digest: is }: PromptText): boolean {
  return was !== undefined && is !== undefined && was !== is;
}

function toolsByName({ tools }: StandingPrompt): ReadonlyMap<string, PromptTool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function linesOf(
  before: PromptText,
  after: PromptText,
): { readonly lines: ChangedLines } | undefined {
  if (before.text === undefined || after.text === undefined) return undefined;
  return { lines: changedLines(indentedText(before.text), indentedText(after.text)) };
}

/** A text as people read it: JSON with indents. */
export function indentedText(text: string): string {
  const value = parsedJson(text);
  return typeof value === "object" && value !== null ? JSON.stringify(value, undefined, 2) : text;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value, undefined, 2);
}

function changedLines(before: string, after: string): ChangedLines {
  const [one, other] = [before.split("\n"), after.split("\n")];
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  return {
    from: head + 1,
    removed: one.slice(head, one.length - tail),
    added: other.slice(head, other.length - tail),
  };
}
