/**
 * Finds the media of an item, and replaces media by notes: omitted ones (all before a position, and the first at
 * it), and those that a provider refused.
 */

import {
  uploadedFile,
  measuresIn,
  uploadNames,
  resemblesReference,
  type BlobMeasures,
  type UploadedFile,
  type ModelOutput,
  type OmittedMedia,
  type RefusedMedium,
} from "../events/index.ts";
import type { CallPart, HistoryItem, HistoryPart, StepItem, UserItem } from "./history-item.ts";

/** A file in an item that is not text. */
export interface Medium {
  readonly part: object;
  readonly mediaType: string;
  /** Base64, a URL or a reference; the names of an uploaded file. */
  readonly data: string;
  readonly filename?: string;
  readonly blob?: BlobMeasures;
  readonly uploaded?: UploadedFile;
}

const known = new WeakMap<HistoryItem, readonly Medium[]>();

/** The media of an item, in the order in which they are counted: output or message first, then results of calls. */
export function itemMedia(item: HistoryItem): readonly Medium[] {
  const found = known.get(item);
  if (found !== undefined) return found;
  const media = mediaIn(item);
  known.set(item, media);
  return media;
}

function mediaIn(item: HistoryItem): readonly Medium[] {
  switch (item.kind) {
    case "user":
      return typeof item.content === "string" ? [] : item.content.flatMap(mediumOf);
    case "step":
      return [
        ...item.parts.flatMap(mediumOf),
        ...item.parts
          .flatMap((part) => (part.kind === "call" ? contentOf(part) : []))
          .flatMap(mediumOf),
      ];
    case "note":
    case "turn-end":
      return [];
  }
}

type Content = Extract<ModelOutput, { readonly type: "content" }>["value"];

function contentOf({ outcome }: CallPart): Content {
  if (!("modelOutput" in outcome) || outcome.modelOutput?.type !== "content") return [];
  return outcome.modelOutput.value;
}

function mediumOf(part: object): readonly Medium[] {
  const uploaded = uploadedFile(part);
  if (uploaded !== undefined) {
    const { reference, ...file } = uploaded;
    return isText(file.mediaType)
      ? []
      : [{ part, ...file, data: uploadNames(reference), uploaded }];
  }
  if (!("data" in part && "mediaType" in part)) return [];
  const data = dataOf(part.data);
  const { mediaType } = part;
  if (data === undefined || typeof mediaType !== "string" || isText(mediaType)) return [];
  const blob = measuresIn(part);
  const named = "filename" in part && typeof part.filename === "string";
  return [
    {
      part,
      mediaType,
      data,
      ...(named ? { filename: String(part.filename) } : {}),
      ...(blob === undefined ? {} : { blob }),
    },
  ];
}

/** Text files count as text. */
function isText(mediaType: string): boolean {
  return mediaType.startsWith("text/") || mediaType === "application/json";
}

function dataOf(data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (typeof data !== "object" || data === null) return undefined;
  if ("data" in data) return dataOf(data.data);
  return "url" in data ? dataOf(data.url) : undefined;
}

export function omittedNote(
  { mediaType, data, filename, blob, uploaded }: Medium,
  why = "the request would be too large",
): string {
  const called = filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
  const isAddress = uploaded !== undefined || /^https?:/i.test(data);
  const content = data.slice(data.startsWith("data:") ? data.indexOf(",") + 1 : 0);
  const bytes = blob?.bytes ?? (isAddress ? undefined : Math.floor((content.length * 3) / 4));
  const size = bytes === undefined ? "" : `, ${bytes} bytes`;
  const where = isAddress || resemblesReference(data) ? ` ${data}` : "";
  return `[The file${called} (${mediaType}${size}) is no longer shown: ${why}.${where}]`;
}

/** How many of an item's first media are omitted. */
export function omittedIn(item: HistoryItem, omitted: OmittedMedia | undefined): number {
  if (omitted === undefined || item.position > omitted.before) return 0;
  if (item.position < omitted.before) return Number.POSITIVE_INFINITY;
  const id = item.kind === "user" ? item.id : undefined;
  return omitted.there.find((one) => one.id === id)?.media ?? 0;
}

interface OmittedItem {
  readonly count: number;
  readonly item: HistoryItem;
}

const omittedItems = new WeakMap<HistoryItem, OmittedItem>();

export function omittedItem(item: HistoryItem, omitted: OmittedMedia | undefined): HistoryItem {
  const first = omittedIn(item, omitted);
  const count = first === 0 ? 0 : Math.min(first, itemMedia(item).length);
  if (count === 0) return item;
  const made = omittedItems.get(item);
  if (made?.count === count) return made.item;
  const gone = new Map(
    itemMedia(item)
      .slice(0, count)
      .map((medium) => [medium.part, omittedNote(medium)]),
  );
  const shown = withNotes(item, gone);
  omittedItems.set(item, { count, item: shown });
  return shown;
}

interface RefusedItem {
  readonly parts: readonly object[];
  readonly item: HistoryItem;
}

const refusedItems = new WeakMap<HistoryItem, RefusedItem>();

/** @param whole - The item with all its media, by which they are counted. */
export function withoutRefused(
  item: HistoryItem,
  whole: HistoryItem,
  media: readonly RefusedMedium[],
): HistoryItem {
  const isOf = ({ position, id }: RefusedMedium): boolean =>
    position === item.position && (item.kind !== "user" || id === item.id);
  const indexes = new Set(media.filter(isOf).map(({ index }) => index));
  if (indexes.size === 0) return item;
  const gone = itemMedia(whole).filter((_, index) => indexes.has(index));
  const parts = gone.map(({ part }) => part);
  const made = refusedItems.get(item);
  if (made?.parts.length === parts.length && parts.every((one) => made.parts.includes(one)))
    return made.item;
  const notes = gone.map((one) => [one.part, omittedNote(one, "the provider refused it")] as const);
  const shown = withNotes(item, new Map(notes));
  refusedItems.set(item, { parts, item: shown });
  return shown;
}

type Notes = ReadonlyMap<object, string>;

function withNotes(item: HistoryItem, notes: Notes): HistoryItem {
  switch (item.kind) {
    case "user":
      return { ...item, content: userContent(item, notes) };
    case "step":
      return { ...item, parts: stepParts(item, notes) };
    case "note":
    case "turn-end":
      return item;
  }
}

function userContent({ content }: UserItem, notes: Notes): UserItem["content"] {
  if (typeof content === "string") return content;
  return content.map((part) => {
    const text = notes.get(part);
    return text === undefined ? part : { type: "text", text };
  });
}

function stepParts({ parts }: StepItem, notes: Notes): readonly HistoryPart[] {
  return parts.flatMap((part): readonly HistoryPart[] => {
    if (part.kind === "call") return [withResult(part, notes)];
    const text = notes.get(part);
    if (text === undefined) return [part];
    // A reasoning file gets no note, since the model did not write it.
    return part.kind === "file" ? [{ kind: "text", id: "", text, open: false }] : [];
  });
}

function withResult(part: CallPart, notes: Notes): CallPart {
  const { outcome } = part;
  if (!contentOf(part).some((one) => notes.has(one))) return part;
  if (outcome.status !== "succeeded" && outcome.status !== "failed") return part;
  const value: Content = contentOf(part).map((one) => {
    const text = notes.get(one);
    return text === undefined ? one : { type: "text", text };
  });
  return { ...part, outcome: { ...outcome, modelOutput: { type: "content", value } } };
}
