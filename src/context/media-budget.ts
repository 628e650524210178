/**
 * Which media, the oldest first, are to be left out so that a request is not larger than the model
 * takes. Pure: proposes, and the runtime records.
 */

import type { ModelName, OmittedMedia } from "../events/index.ts";
import {
  coveredBy,
  itemMedia,
  itemMessages,
  itemRuns,
  omittedIn,
  omittedNote,
  shownItem,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type Medium,
} from "../projections/index.ts";
import {
  asBase64,
  mediaRefusal,
  type MediaFile,
  type MediaLimits,
  uploadRefusal,
} from "./model-media.ts";

/** What a user says of media; where nothing is said, what is known of the model holds. */
export interface MediaBudget {
  /** Bytes of a whole request, its files as base64. */
  readonly requestBytes?: number;
  /** Pictures in one request. */
  readonly pictures?: number;
  /** Media types that the model takes, or their beginnings (`image/`), where the user knows better. */
  readonly types?: readonly string[];
}

/** The limits of a model, and those that a user has set; undefined where there are none. */
export function limitedMedia(
  listed: MediaLimits | undefined,
  { requestBytes, pictures, types }: MediaBudget = {},
): MediaLimits | undefined {
  if (
    listed === undefined &&
    requestBytes === undefined &&
    pictures === undefined &&
    types === undefined
  )
    return undefined;
  const lesser = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
  const requestCharacters = lesser(listed?.requestCharacters, requestBytes);
  const most = lesser(listed?.pictures, pictures);
  return {
    ...listed,
    ...(types === undefined ? {} : { types }),
    ...(requestCharacters === undefined ? {} : { requestCharacters }),
    ...(most === undefined ? {} : { pictures: most }),
  };
}

/** What {@link planOmission} looks at: a request, and what it may have of media. */
export interface OmissionInput {
  readonly history: HistoryState;
  readonly view: ContextView;
  /** Of the whole request as it is, its files as base64. */
  readonly bytes: number;
  readonly limits: MediaLimits;
  /** Who is to be shown it. Default: somebody who is shown all that lies with any provider. */
  readonly model?: ModelName;
}

/** What `context.media-omitted` has. */
export interface OmissionPlan extends OmittedMedia {
  readonly media: number;
  readonly savedBytes: number;
}

/** How full a request may be when media are left out: the next ones shall not push others out at once. */
const ROOM = 0.75;
/** Characters that a picture is taken to have that is sent as a smaller copy, or as a note. */
export const SCALED_CHARACTERS: number = 1024 * 1024;

interface Shown {
  readonly item: HistoryItem;
  /** Of the item's media, which one. */
  readonly index: number;
  readonly medium: Medium;
  readonly isPicture: boolean;
  /** What it has in the prompt, and what of it is sent. */
  readonly characters: number;
  readonly sent: number;
  /** No model has answered to it. */
  readonly isNew: boolean;
}

/** What is to be left out, or undefined where everything fits or there is nothing to leave out. */
export function planOmission(input: OmissionInput): OmissionPlan | undefined {
  const { history, view, bytes, limits, model } = input;
  const { pictures: mostPictures, requestCharacters } = limits;
  if (mostPictures === undefined && requestCharacters === undefined) return undefined;
  const shown = weighed(shownMedia(history, view), limits, model);
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
    // What nobody has seen yet is left out only where it has to be.
    if (!over(isNew ? 1 : ROOM)) break;
    const note = omittedNote(medium).length;
    passed += 1;
    // A name of a file elsewhere makes no room, and goes only with what is newer and does.
    const isOfUse = medium.uploaded === undefined || (isPicture && tooMany(isNew ? 1 : ROOM));
    if (isOfUse) count = passed;
    if (isPicture && sent > 0) pictures -= 1;
    size += note - sent;
    savedBytes += characters - note;
  }
  const last = shown[count - 1];
  return last && { ...upTo(last, history), media: count, savedBytes: Math.max(0, savedBytes) };
}

function upTo({ item, index }: Shown, history: HistoryState): OmittedMedia {
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

type Found = Pick<Shown, "item" | "index" | "medium" | "isNew">;

/** Oldest first. What was compacted, cleared or left out before is shown no more. */
function shownMedia({ items, open }: HistoryState, view: ContextView): readonly Found[] {
  const omitted = view.omissions.at(-1)?.omitted;
  const hasAnswer = (item: HistoryItem): boolean =>
    item.kind === "step" && itemMessages(item).length > 0;
  const answered = open !== undefined && hasAnswer(open) ? open : items.findLast(hasAnswer);
  const uncovered = itemRuns(items, view.compactions).flatMap(({ start, end, by }) =>
    by === undefined ? items.slice(start, end) : [],
  );
  const isShown = open !== undefined && coveredBy(view.compactions, open.position) === undefined;
  return [...uncovered, ...(isShown ? [open] : [])].flatMap((item): readonly Found[] => {
    const media = itemMedia(item);
    if (media.length === 0) return [];
    const parts = new Set(itemMedia(shownItem(item, view)).map(({ part }) => part));
    const gone = omittedIn(item, omitted);
    const isNew = item.position >= (answered?.position ?? 0);
    return media.flatMap((medium, index) =>
      index >= gone && parts.has(medium.part) ? [{ item, index, medium, isNew }] : [],
    );
  });
}

function weighed(
  found: readonly Found[],
  limits: MediaLimits,
  model: ModelName | undefined,
): readonly Shown[] {
  const isPicture = ({ mediaType }: Medium): boolean => mediaType.startsWith("image");
  const pictures = found.filter(({ medium }) => isPicture(medium)).length;
  return found.map((one) => {
    const { medium } = one;
    const { blob, data, mediaType, uploaded } = medium;
    if (uploaded !== undefined) {
      // Shown or not, it is as good as nothing; of the pictures, it is one only where it is shown.
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

/** What the model does not take is a note, or a smaller copy. */
function sentOf(file: MediaFile, limits: MediaLimits, pictures: number): number {
  const refusal = mediaRefusal(file, limits, pictures);
  const characters = asBase64(file.bytes);
  if (refusal === undefined) return characters;
  return "longestEdge" in refusal ? Math.min(characters, SCALED_CHARACTERS) : 0;
}
