/**
 * What lies between two prompts of a session: which messages came, went or read differently, why,
 * and up to where the provider's prompt cache still fits. Pure.
 */

import type { ModelMessage } from "ai";
import type { ContextView } from "./context-view.ts";
import { coveredBy, firstFrom } from "./covered.ts";
import type { HistoryItem, HistoryState } from "./history-item.ts";
import { itemMedia, omittedIn } from "./shown-media.ts";
import { promptEntries, type PromptEntry, type PromptOrigin } from "./prompt.ts";

/** What a prompt is made from: the state of a session at a position has all of it. */
export interface PromptSource {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly summary: { readonly agentDigest?: string };
}

/**
 * Why a message is not the same in both prompts:
 * - `new`: it was said in between; `gone`: it had not been said yet (the second prompt is the earlier).
 * - `continued`: its step was still running; or, of a note to the model, the talk went on and it is
 *   not needed.
 * - `cut-off`: its step failed or was interrupted; or it is the note that says so.
 * - `cut`: tool results that are too long are shown by their beginning and their end.
 * - `pruned`: the content of tool results gave way to a placeholder.
 * - `media-omitted`: its media, among the oldest, gave way to notes, as the request was too large.
 * - `compacted`: it gave way to a summary, or is one.
 * - `restored`: a pruning, cut, omission of media or compaction was undone.
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
  | "restored";

interface Change {
  readonly why: PromptChangeReason;
  readonly origin: PromptOrigin;
}

/** One message that is not the same. An index counts from 0, in the prompt that has the message. */
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

/** What differs between two prompts. */
export interface PromptDiff {
  /** Messages of either prompt. */
  readonly lengths: { readonly before: number; readonly after: number };
  /** In the order of the prompts. */
  readonly changes: readonly PromptChange[];
  /** Whether model, instructions or tool definitions, which stand before every message, are others. */
  readonly agentChanged: boolean;
  /**
   * The index in the second prompt of the first message from which a provider that has cached the
   * first prompt finds something else. Absent while all that was cached still fits.
   */
  readonly cacheBreak?: number;
}

interface Prompt extends PromptSource {
  readonly entries: readonly PromptEntry[];
  /** Where the message of an origin stands. */
  readonly places: ReadonlyMap<string, number>;
  /** The last position of the history. */
  readonly reached: number;
  /** How many calls of each step are pruned, and how often any of them was cut. */
  readonly pruned: ReadonlyMap<number, number>;
  readonly cut: ReadonlyMap<number, number>;
}

/** Compares the prompts that a step would send here and there. */
export function promptDiff(before: PromptSource, after: PromptSource): PromptDiff {
  const [one, other] = [promptOf(before), promptOf(after)];
  const agentChanged = before.summary.agentDigest !== after.summary.agentDigest;
  const cacheBreak = agentChanged ? 0 : firstDifference(one.entries, other.entries);
  return {
    lengths: { before: one.entries.length, after: other.entries.length },
    changes: changesBetween(one, other),
    agentChanged,
    ...(cacheBreak === undefined ? {} : { cacheBreak }),
  };
}

function promptOf(source: PromptSource): Prompt {
  const entries = promptEntries(source.history, source.view);
  const places = new Map(entries.map(({ origin }, index) => [keyOf(origin), index]));
  const { items, open, note } = source.history;
  const { prunings, cuts } = source.view;
  return {
    ...source,
    entries,
    places,
    reached: Math.max(0, ...[items.at(-1), open, note].map((item) => item?.position ?? 0)),
    pruned: callsByStep([prunings.flatMap(({ calls }) => calls)]),
    // One that is cut again, shorter, counts again.
    cut: callsByStep(cuts.filter(({ undone }) => undone !== true).map(({ calls }) => calls)),
  };
}

/** Of each step, how many of its calls are in each list, all together. */
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

/** Two messages with the same key stand for the same thing. */
function keyOf(origin: PromptOrigin): string {
  switch (origin.kind) {
    case "user":
      return `user ${origin.position} ${origin.id}`;
    case "step":
      return `step ${origin.position} ${origin.role}`;
    case "note":
    case "summary":
    case "cut-off-note":
      return `${origin.kind} ${origin.position}`;
  }
}

function firstDifference(
  before: readonly PromptEntry[],
  after: readonly PromptEntry[],
): number | undefined {
  const index = after.findIndex((entry, at) => {
    const cached = before[at];
    return cached !== undefined && !isSame(cached.message, entry.message);
  });
  return index === -1 ? undefined : index;
}

/** To the byte, as a provider's cache compares them. */
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
  for (const [place, { message, origin }] of before.entries.entries()) {
    const kept = after.places.get(keyOf(origin));
    // Summaries that overlap may change places: what would have to go backwards counts as removed.
    const entry = kept === undefined || kept < index ? undefined : after.entries[kept];
    if (kept === undefined || entry === undefined) {
      const why = whyRemoved(origin, after);
      changes.push({ kind: "removed", index: place, message, origin, why });
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
  if (origin.kind === "cut-off-note") return "cut-off";
  if (origin.kind === "summary") return hasCompaction(before, origin) ? "restored" : "compacted";
  if (isCovered(before, origin)) return "restored";
  return hasReached(before, origin) ? "continued" : "new";
}

function whyRemoved(origin: PromptOrigin, after: Prompt): PromptChangeReason {
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
  return isCutOff(item) && !isCutOff(old) ? "cut-off" : "continued";
}

/** Items have their positions in order; several messages may be delivered at once. */
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

/** Whether a prompt is of a time when this, or something later, had been said. */
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

function omittedOf({ view }: Prompt, item: HistoryItem | undefined): number {
  const omitted = view.omissions.at(-1)?.omitted;
  return item === undefined ? 0 : Math.min(omittedIn(item, omitted), itemMedia(item).length);
}

/** What is counted for a step. */
function countOf(counts: ReadonlyMap<number, number>, item: HistoryItem | undefined): number {
  return item?.kind === "step" ? (counts.get(item.step) ?? 0) : 0;
}
