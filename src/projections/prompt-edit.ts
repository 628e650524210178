/**
 * The changes of `prepareStep` to the messages of a turn. They hold until the turn ends. Pure; the log has only
 * the difference that each step makes.
 */

import type { ModelMessage } from "ai";
import { z } from "zod";
import {
  deepFreeze,
  promptRangeSchema,
  preparedMessageSchema,
  type MessageChange,
  type PromptPlace,
  type PromptRange,
  type PreparedMessage,
} from "../events/index.ts";
import type { PromptEntry } from "./prompt-step.ts";
import { callIds, resultIds } from "./prompt-problems.ts";

interface AddedMessage {
  /** The position of its `step.prepared`, and its index there. */
  readonly position: number;
  readonly index: number;
  /** It follows the last message that is at or before this place. */
  readonly after: PromptPlace;
  readonly message: PreparedMessage;
}

export interface PromptEdit {
  readonly hidden: readonly PromptRange[];
  /** Summaries that are left out, by the positions of their compactions. */
  readonly summaries: readonly number[];
  readonly added: readonly AddedMessage[];
}

/** A message of the prompt without the edit, and its place in the order of the prompt. */
export interface PlacedEntry extends PromptEntry {
  readonly place: PromptPlace;
}

export const promptEditSchema: z.ZodType<PromptEdit> = z.lazy(() =>
  z.object({
    hidden: z.array(promptRangeSchema),
    summaries: z.array(z.int()),
    added: z.array(
      z.object({
        position: z.int(),
        index: z.int(),
        after: z.tuple([z.int(), z.int()]),
        message: preparedMessageSchema,
      }),
    ),
  }),
);

export const noEdit: PromptEdit = deepFreeze({ hidden: [], summaries: [], added: [] });

export function comparePlaces(one: PromptPlace, other: PromptPlace): number {
  return one[0] - other[0] || one[1] - other[1];
}

export function isWithin({ from, to }: PromptRange, at: PromptPlace): boolean {
  return comparePlaces(from, at) <= 0 && comparePlaces(at, to) <= 0;
}

export function isHidden(
  { hidden, summaries }: PromptEdit,
  { place: at, origin }: PlacedEntry,
): boolean {
  if (origin.kind === "summary") return summaries.includes(origin.position);
  return hidden.some((range) => isWithin(range, at));
}

export function withChange(edit: PromptEdit, position: number, change: MessageChange): PromptEdit {
  const { hidden = [], shown = [], summaries = edit.summaries, removed = [], added = [] } = change;
  const isOver = (range: PromptRange): boolean =>
    shown.some((one) => isSameRange(one, range)) ||
    hidden.some((one) => isWithin(one, range.from) && isWithin(one, range.to));
  const isGone = (one: AddedMessage): boolean =>
    removed.some((gone) => gone.position === one.position && gone.index === one.index);
  const list = edit.added.filter((one) => !isGone(one));
  let last: AddedMessage | undefined;
  for (const [index, { after, message }] of added.entries()) {
    // Messages that were added together after the same message keep their order.
    const isNext = last !== undefined && isSameAnchor(after, added[index - 1]?.after);
    const isAnchor = ({ position: at, index: nth }: AddedMessage): boolean =>
      "index" in after && after.position === at && after.index === nth;
    const before = isNext ? last : list.find(isAnchor);
    const at = before?.after ?? ("index" in after ? [0, 0] : after.place);
    const made: AddedMessage = { position, index, after: at, message };
    const to =
      before === undefined
        ? list.findIndex((one) => comparePlaces(one.after, at) >= 0)
        : list.indexOf(before) + 1;
    list.splice(to === -1 ? list.length : to, 0, made);
    last = made;
  }
  return {
    hidden: [...edit.hidden.filter((range) => !isOver(range)), ...hidden],
    summaries,
    added: list,
  };
}

type Anchor = NonNullable<MessageChange["added"]>[number]["after"];

function isSameAnchor(one: Anchor, other: Anchor | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isSameRange(one: PromptRange, other: PromptRange): boolean {
  return comparePlaces(one.from, other.from) === 0 && comparePlaces(one.to, other.to) === 0;
}

/** A message of an edited prompt: of the plain prompt, or an added one. */
export type EditedEntry = PlacedEntry | (Omit<AddedMessage, "message"> & PromptEntry);

const entries = new WeakMap<AddedMessage, EditedEntry>();

/** The same object each time, so that it is measured and hashed once. */
function addedEntry(added: AddedMessage): EditedEntry {
  const known = entries.get(added);
  if (known !== undefined) return known;
  const { position, index } = added;
  // The AI SDK's schema parsed it before it was recorded.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const message = added.message as unknown as ModelMessage;
  const entry: EditedEntry = { ...added, message, origin: { kind: "prepared", position, index } };
  entries.set(added, entry);
  return entry;
}

/** All messages in order, without those that are left out unless `isWhole`. */
export function editedEntries(
  plain: readonly PlacedEntry[],
  edit: PromptEdit,
  isWhole: boolean,
): readonly EditedEntry[] {
  const merged: EditedEntry[] = [];
  let next = 0;
  for (const entry of plain) {
    for (; next < edit.added.length; next++) {
      const added = edit.added[next];
      if (added === undefined || comparePlaces(added.after, entry.place) >= 0) break;
      merged.push(addedEntry(added));
    }
    if (isWhole || !isHidden(edit, entry)) merged.push(entry);
  }
  merged.push(...edit.added.slice(next).map(addedEntry));
  return isWhole ? merged : withoutBroken(merged);
}

/** A compaction may cover the results of an added call: messages without their counterpart are left out. */
function withoutBroken(entries: readonly EditedEntry[]): readonly EditedEntry[] {
  const sound = entries.filter((entry, index) => !isBroken(entries, entry, index));
  return sound.length === entries.length ? entries : withoutBroken(sound);
}

function isBroken(entries: readonly EditedEntry[], entry: EditedEntry, index: number): boolean {
  const { message } = entry;
  if (message.role === "assistant") {
    const calls = callIds(message);
    if (calls.length > 0 && calls.join() !== resultIds(entries[index + 1]?.message).join())
      return true;
    const before = entries[index - 1]?.message;
    const after = entries[index + 1]?.message;
    const isAdded = "after" in entry;
    return isAdded && (before?.role === "assistant" || after?.role === "assistant");
  }
  if (message.role !== "tool") return false;
  return resultIds(message).join() !== callIds(entries[index - 1]?.message).join();
}
