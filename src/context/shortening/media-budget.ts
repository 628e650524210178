/** Plans which media to omit, oldest first, so that a request fits the model. Pure: the runtime records it. */

import { defined, type ModelName, type OmittedMedia } from "../../events/index.ts";
import {
  coveredBy,
  isReduced,
  itemMedia,
  itemMessages,
  itemRanges,
  omittedIn,
  omittedNote,
  shownItem,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type Medium,
} from "../../projections/index.ts";
import {
  asBase64,
  mediaRefusal,
  type MediaFile,
  type MediaLimits,
  uploadRefusal,
} from "../models/model-media.ts";

/** The user's limits on media. Default: the known limits of the model. */
export interface MediaBudget {
  /** The most bytes of a request, files as base64. */
  readonly requestBytes?: number;
  /** The most pictures in a request. */
  readonly pictures?: number;
  /** Media types that the model accepts, or their beginnings (`image/`). Replaces the known types. */
  readonly types?: readonly string[];
}

/** The smaller of the model's and the user's limits; undefined if there are none. */
export function limitedMedia(
  listed: MediaLimits | undefined,
  { requestBytes, pictures, types }: MediaBudget = {},
): MediaLimits | undefined {
  const lesser = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
  const own = defined({
    types,
    requestCharacters: lesser(listed?.requestCharacters, requestBytes),
    pictures: lesser(listed?.pictures, pictures),
  });
  return listed === undefined && Object.keys(own).length === 0 ? undefined : { ...listed, ...own };
}

export interface OmissionInput {
  readonly history: HistoryState;
  readonly view: ContextView;
  /** Bytes of the whole request, files as base64. */
  readonly bytes: number;
  readonly limits: MediaLimits;
  /** The model of the request. Default: any; all uploaded files count as shown. */
  readonly model?: ModelName;
}

export interface OmissionPlan extends OmittedMedia {
  readonly media: number;
  readonly savedBytes: number;
}

/** Media are omitted down to this share of the limits, so that the next ones fit. */
const TARGET_SHARE = 0.75;
/** The assumed characters of a picture that is sent as a smaller copy. */
export const SCALED_CHARACTERS = 1024 * 1024;

interface Shown {
  readonly item: HistoryItem;
  readonly index: number;
  readonly medium: Medium;
  readonly isPicture: boolean;
  /** Its characters in the prompt, and those that are sent. */
  readonly characters: number;
  readonly sent: number;
  /** No reply has followed it. */
  readonly isNew: boolean;
}

/** The media to omit; undefined if everything fits or there is nothing to omit. */
export function planOmission(input: OmissionInput): OmissionPlan | undefined {
  const { history, view, bytes, limits, model } = input;
  const { pictures: mostPictures, requestCharacters } = limits;
  if (mostPictures === undefined && requestCharacters === undefined) return undefined;
  const shown = withSizes(shownMedia(history, view), limits, model);
  let pictures = shown.filter(({ isPicture, sent }) => isPicture && sent > 0).length;
  let size = shown.reduce((sum, { characters, sent }) => sum - characters + sent, bytes);
  const tooMany = (share: number): boolean =>
    pictures > (mostPictures ?? Number.POSITIVE_INFINITY) * share;
  const over = (share: number): boolean =>
    tooMany(share) || size > (requestCharacters ?? Number.POSITIVE_INFINITY) * share;
  if (!over(1)) return undefined;
  let count = 0;
  let passed = 0;
  let savedBytes = 0;
  for (const { medium, isPicture, sent, characters, isNew } of shown) {
    // New media are omitted only as far as needed.
    if (!over(isNew ? 1 : TARGET_SHARE)) break;
    const note = omittedNote(medium).length;
    passed += 1;
    // Omitting an uploaded file saves nothing: it goes only together with newer media that do.
    const isOfUse =
      medium.uploaded === undefined || (isPicture && tooMany(isNew ? 1 : TARGET_SHARE));
    if (isOfUse) count = passed;
    if (isPicture && sent > 0) pictures -= 1;
    size += note - sent;
    savedBytes += characters - note;
  }
  const last = shown[count - 1];
  return (
    last && { ...omissionUpTo(last, history), media: count, savedBytes: Math.max(0, savedBytes) }
  );
}

function omissionUpTo({ item, index }: Shown, history: HistoryState): OmittedMedia {
  const items = itemsOf(history).filter(({ position }) => position === item.position);
  const there = items.slice(0, items.indexOf(item) + 1).flatMap((one) => {
    const media = one === item ? index + 1 : itemMedia(one).length;
    return media === 0 ? [] : [one.kind === "user" ? { id: one.id, media } : { media }];
  });
  return { before: item.position, there };
}

function itemsOf({ items, open }: HistoryState): readonly HistoryItem[] {
  return open === undefined ? items : [...items, open];
}

/** A file that the prompt shows, by its number among those of its item. */
export type ShownMedium = Pick<Shown, "item" | "index" | "medium" | "isNew">;

/** All files that the prompt shows, oldest first. */
export function shownMedia(
  { items, open }: HistoryState,
  view: ContextView,
): readonly ShownMedium[] {
  const omitted = view.omissions.at(-1)?.omitted;
  const isText = isReduced(items, view);
  const hasAnswer = (item: HistoryItem): boolean =>
    item.kind === "step" && itemMessages(item).length > 0;
  const answered = open !== undefined && hasAnswer(open) ? open : items.findLast(hasAnswer);
  const uncovered = itemRanges(items, view.compactions).flatMap(({ start, end, by }) =>
    by === undefined ? items.slice(start, end) : [],
  );
  const isShown = open !== undefined && coveredBy(view.compactions, open.position) === undefined;
  return [...uncovered, ...(isShown ? [open] : [])].flatMap((item): readonly ShownMedium[] => {
    const media = itemMedia(item);
    if (media.length === 0 || isText(item)) return [];
    const parts = new Set(itemMedia(shownItem(item, view)).map(({ part }) => part));
    const gone = omittedIn(item, omitted);
    const isNew = item.position >= (answered?.position ?? 0);
    return media.flatMap((medium, index) =>
      index >= gone && parts.has(medium.part) ? [{ item, index, medium, isNew }] : [],
    );
  });
}

function withSizes(
  found: readonly ShownMedium[],
  limits: MediaLimits,
  model: ModelName | undefined,
): readonly Shown[] {
  const isPicture = ({ mediaType }: Medium): boolean => mediaType.startsWith("image");
  const pictures = found.filter(({ medium }) => isPicture(medium)).length;
  return found.map((one) => {
    const { medium } = one;
    const { blob, data, mediaType, uploaded } = medium;
    if (uploaded !== undefined) {
      // Its name has hardly any characters. It counts as a picture only if the model is shown it.
      const isShown = uploadRefusal(uploaded, model, limits) === undefined;
      const { length } = data;
      return { ...one, isPicture: isShown && isPicture(medium), characters: length, sent: length };
    }
    const characters = blob === undefined ? data.length : asBase64(blob.bytes);
    const file: MediaFile = { mediaType, bytes: Math.floor((characters * 3) / 4), ...blob };
    const sent = blob?.fault === undefined ? sentOf(file, limits, pictures) : 0;
    return { ...one, isPicture: isPicture(medium), characters, sent };
  });
}

/** A refused file becomes a smaller copy or a note. */
function sentOf(file: MediaFile, limits: MediaLimits, pictures: number): number {
  const refusal = mediaRefusal(file, limits, pictures);
  const characters = asBase64(file.bytes);
  if (refusal === undefined) return characters;
  return "longestEdge" in refusal ? Math.min(characters, SCALED_CHARACTERS) : 0;
}
