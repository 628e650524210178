/**
 * What a model takes beside text, and how much of it in one request: tables by what providers publish.
 * Pure; a family that nothing is known of has no limits here, and its provider has the last word.
 */

import type { ModelName } from "../events/index.ts";
import { modelFamily } from "./model-family.ts";

/** What is known of a file where it is referred to. */
export interface MediaFile {
  readonly mediaType: string;
  readonly bytes: number;
  /** Of pictures, in pixels. */
  readonly width?: number;
  readonly height?: number;
  /** Of documents. */
  readonly pages?: number;
}

export interface MediaLimits {
  /** Media types, or their beginnings (`image/`). */
  readonly types: readonly string[];
  /** Base64 characters of one picture. */
  readonly pictureCharacters?: number;
  /** Pixels of a picture's longer edge. */
  readonly pictureEdge?: number;
  /** Another edge, where a request has more than so many pictures. */
  readonly pictureEdgeAmong?: { readonly more: number; readonly edge: number };
  /** Pictures in one request. */
  readonly pictures?: number;
  /** Pages of one document. */
  readonly pages?: number;
  /** Characters of a whole request, its files as base64. */
  readonly requestCharacters?: number;
}

const MB = 1024 * 1024;
const USUAL_PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * "Vision", platform.claude.com/docs/en/build-with-claude/vision: four formats, 5 MB as base64, 8000
 * pixels, 2000 where a request has more than 20, at most 100 in one of 32 MB. "PDF support": 100 pages.
 */
const claude: MediaLimits = {
  types: [...USUAL_PICTURES, "application/pdf"],
  pictureCharacters: 5 * MB,
  pictureEdge: 8000,
  pictureEdgeAmong: { more: 20, edge: 2000 },
  pictures: 100,
  pages: 100,
  requestCharacters: 32 * MB,
};

/** "Images and vision" and "File inputs", platform.openai.com/docs/guides: 500 pictures and 50 MB a request. */
const gpt: MediaLimits = {
  types: [...USUAL_PICTURES, "application/pdf"],
  pictures: 500,
  requestCharacters: 50 * MB,
};
/** "Audio and speech", there: only models that are made for it, and they take no pictures. */
const gptAudio: MediaLimits = { types: ["audio/wav", "audio/mpeg"], requestCharacters: 50 * MB };

/**
 * "File input methods", "Image", "Audio", "Video" and "Document understanding",
 * ai.google.dev/gemini-api/docs: 100 MB a request, 3,600 pictures, 1,000 pages. Vertex AI takes 20 MB.
 */
const gemini: MediaLimits = {
  types: [
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "audio/",
    "video/",
    "application/pdf",
  ],
  pictures: 3600,
  pages: 1000,
  requestCharacters: 100 * MB,
};

const textOnly: MediaLimits = { types: [] };

/** What a model takes; undefined where nothing is known of its kind. `types` are the user's own word on it. */
export function modelMedia(model: ModelName, types?: readonly string[]): MediaLimits | undefined {
  const listed = listedMedia(model);
  return types === undefined ? listed : { ...listed, types };
}

function listedMedia(model: ModelName): MediaLimits | undefined {
  const { provider, modelId } = model;
  switch (modelFamily(model).name) {
    case "anthropic":
      return /claude-(2|instant)/.test(modelId) ? textOnly : claude;
    case "google":
      if (/gemma/i.test(modelId)) return undefined;
      return /vertex/i.test(provider) ? { ...gemini, requestCharacters: 20 * MB } : gemini;
    case "openai":
      if (/audio|realtime/.test(modelId)) return gptAudio;
      return /gpt-3\.5|gpt-4$|gpt-oss|o1-mini|o1-preview|o3-mini/.test(modelId) ? textOnly : gpt;
    case "deepseek":
      return textOnly;
    default:
      return undefined;
  }
}

/** Why a model does not take a file as it is. */
export type MediaRefusal =
  | { readonly kind: "type" }
  /** A smaller copy would be taken. */
  | { readonly kind: "picture"; readonly longestEdge: number }
  | { readonly kind: "pages"; readonly most: number };

/** Edge to which a picture is scaled down that has too many bytes: what models look at is no larger. */
const ENOUGH = 1568;

/**
 * Whether a model takes a file, or why not.
 * @param pictures - How many of them the request has.
 */
export function mediaRefusal(
  file: MediaFile,
  limits: MediaLimits,
  pictures: number,
): MediaRefusal | undefined {
  const { mediaType, bytes, width = 0, height = 0, pages = 0 } = file;
  if (!limits.types.some((type) => taken(mediaType, type))) return { kind: "type" };
  if (limits.pages !== undefined && pages > limits.pages) {
    return { kind: "pages", most: limits.pages };
  }
  if (!mediaType.startsWith("image/")) return undefined;
  const { pictureEdge, pictureEdgeAmong, pictureCharacters } = limits;
  const isAmong = pictureEdgeAmong !== undefined && pictures > pictureEdgeAmong.more;
  const edge = isAmong ? pictureEdgeAmong.edge : (pictureEdge ?? Number.POSITIVE_INFINITY);
  if (pictureCharacters !== undefined && asBase64(bytes) > pictureCharacters)
    return { kind: "picture", longestEdge: Math.min(edge, ENOUGH) };
  return Math.max(width, height) > edge ? { kind: "picture", longestEdge: edge } : undefined;
}

function taken(mediaType: string, type: string): boolean {
  return type.endsWith("/") ? mediaType.startsWith(type) : mediaType === type;
}

/** Characters of so many bytes. */
export function asBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** How full a request may be when files are left out: the next ones shall not push others out at once. */
const ROOM = 0.75;

/**
 * How many of a request's files, the oldest first, have to be left out so that it is not too large.
 * @param files - Those that the model takes, oldest first.
 * @param otherCharacters - What the rest of the request has.
 */
export function filesTooMany(
  files: readonly MediaFile[],
  otherCharacters: number,
  { pictures: mostPictures, requestCharacters: most }: MediaLimits,
): number {
  const isPicture = ({ mediaType }: MediaFile): boolean => mediaType.startsWith("image/");
  let pictures = files.filter(isPicture).length;
  let characters = files.reduce((sum, { bytes }) => sum + asBase64(bytes), otherCharacters);
  const over = (share: number): boolean =>
    pictures > (mostPictures ?? Number.POSITIVE_INFINITY) * share ||
    characters > (most ?? Number.POSITIVE_INFINITY) * share;
  if (!over(1)) return 0;
  let left = 0;
  for (const file of files) {
    if (!over(ROOM)) break;
    if (isPicture(file)) pictures -= 1;
    characters -= asBase64(file.bytes);
    left += 1;
  }
  return left;
}
