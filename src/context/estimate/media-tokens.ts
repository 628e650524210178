/**
 * Tokens of pictures, audio, video and documents, by the providers' published rules. Figures that a file
 * does not show, such as its length in seconds, are derived from its bytes.
 */

import { imageSize } from "image-size";
import type { BlobMeasures, ModelName } from "../../events/index.ts";
import { modelFamily } from "../models/model-family.ts";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The assumed size of a picture whose size cannot be read: a screenshot's. */
const USUAL: Size = { width: 1280, height: 720 };

/** The bytes that contain the header of every picture format; a JPEG's may come after a preview. */
const HEADER_BYTES = 300_000;

/** Measures bytes, pixels or pages once for all models. */
export function mediaMeasures(content: Uint8Array, mediaType: string): BlobMeasures {
  const bytes = content.byteLength;
  if (mediaType.startsWith("image/")) return { bytes, ...sizeOf(content) };
  const pages = mediaType === "application/pdf" ? pagesOf(content) : undefined;
  return pages === undefined ? { bytes } : { bytes, pages };
}

/** The size after rotation by the picture's orientation. */
function sizeOf(content: Uint8Array): Size | undefined {
  try {
    const { width, height, orientation = 1 } = imageSize(content.subarray(0, HEADER_BYTES));
    if (!(width > 0 && height > 0)) return undefined;
    const shown = orientation > 4 ? { width: height, height: width } : { width, height };
    return { width: Math.ceil(shown.width), height: Math.ceil(shown.height) };
  } catch {
    return undefined;
  }
}

/** The number of pages; undefined if the document does not show it. */
function pagesOf(content: Uint8Array): number | undefined {
  const { buffer, byteOffset, byteLength } = content;
  const text = Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
  return text.match(/\/Type\s*\/Page\b(?!s)/g)?.length;
}

function measuresOfBase64(base64: string, mediaType: string): BlobMeasures {
  return mediaMeasures(Buffer.from(base64, "base64"), mediaType);
}

function within({ width, height }: Size, longEdge: number): Size {
  const scale = Math.min(1, longEdge / Math.max(width, height));
  return { width: width * scale, height: height * scale };
}

function shrunk({ width, height }: Size, shortEdge: number): Size {
  const scale = Math.min(1, shortEdge / Math.min(width, height));
  return { width: width * scale, height: height * scale };
}

function tiles({ width, height }: Size, edge: number): number {
  return Math.ceil(width / edge) * Math.ceil(height / edge);
}

/** "Vision", platform.claude.com/docs/en/build-with-claude/vision: width × height / 750. */
function claudeImage(size: Size, modelId: string): number {
  const older = /claude-(2|3|instant)|(sonnet|opus|haiku)-4([-.][0-6])?([@:]|-\d{8}|-v\d|$)/.test(
    modelId,
  );
  const { width, height } = within(size, older ? 1568 : 2000);
  const tokens = (width * height) / 750;
  return older ? Math.min(tokens, 1600) : tokens;
}

/** "Images and vision", platform.openai.com/docs/guides/images-vision#calculating-costs. */
function gptImage(size: Size, modelId: string): number {
  const tiled = /gpt-4o|gpt-4\.1$|gpt-4\.1-20|gpt-4\.5|(^|[/:])o[13](-|$)|gpt-5(-chat|-20|$)/;
  const small = /mini|nano/.test(modelId);
  if (tiled.test(modelId) && !small) {
    const [base, each] = /gpt-5/.test(modelId) ? [70, 140] : [85, 170];
    return base + each * tiles(shrunk(within(size, 2048), 768), 512);
  }
  const patches = Math.min(tiles(size, 32), 1536);
  if (/4\.1-nano/.test(modelId)) return patches * 2.46;
  if (/4\.1-mini|o4-mini/.test(modelId)) return patches * 1.62;
  return patches * 1.2;
}

/** "Token counting" and "Media resolution", ai.google.dev/gemini-api/docs. */
function geminiImage(size: Size, modelId: string): number {
  if (!/gemini-(1|2)/.test(modelId)) return 1120;
  return size.width <= 384 && size.height <= 384 ? 258 : 258 * tiles(size, 768);
}

function imageTokens({ width, height }: BlobMeasures, model: ModelName): number {
  const size = width === undefined || height === undefined ? USUAL : { width, height };
  switch (modelFamily(model).name) {
    case "anthropic":
      return claudeImage(size, model.modelId);
    case "google":
      return geminiImage(size, model.modelId);
    default:
      return gptImage(size, model.modelId);
  }
}

/** Seconds at a usual rate: WAV of 16 kHz, 16 bit; others of 128 kbit/s. */
function seconds(bytes: number, mediaType: string): number {
  return bytes / (/wav|pcm|l16/.test(mediaType) ? 32_000 : 16_000);
}

/** Gemini: 32 tokens a second. OpenAI: one for each 100 ms. */
function audioTokens(bytes: number, mediaType: string, model: ModelName): number {
  const rate = modelFamily(model).name === "google" ? 32 : 10;
  return rate * seconds(bytes, mediaType);
}

/** Gemini: 263 tokens a second, at 1 Mbit/s. */
function videoTokens(bytes: number): number {
  return (263 * bytes) / 125_000;
}

/** The assumed bytes of a page, if the number of pages is not known. */
const PAGE_BYTES = 50_000;

function pageCount({ pages, bytes }: BlobMeasures): number {
  return pages ?? Math.max(1, Math.ceil(bytes / PAGE_BYTES));
}

/**
 * Each page is a picture and its text. "PDF support", platform.claude.com: 1,500 to 3,000; "Document
 * understanding", ai.google.dev: 258 and, in Gemini 3, 560.
 */
function pdfTokens(measures: BlobMeasures, { provider, modelId }: ModelName): number {
  switch (modelFamily({ provider, modelId }).name) {
    case "anthropic":
      return 2300 * pageCount(measures);
    case "google":
      return (/gemini-(1|2)/.test(modelId) ? 258 : 560) * pageCount(measures);
    default:
      return 1000 * pageCount(measures);
  }
}

/** Tokens of a file of which only the URL is known. */
const REMOTE = { image: 1100, other: 2500 };

/** Tokens of an uploaded file, of which only the media type is known. */
export function uploadedTokens(mediaType: string, model: ModelName): number {
  return mediaType.startsWith("image") ? imageTokens({ bytes: 0 }, model) : REMOTE.other;
}

/** Undefined if the file counts as text. `data`: base64, a URL, or a reference with the measures `blob`. */
export function mediaTokens(
  data: string,
  mediaType: string,
  model: ModelName,
  blob?: BlobMeasures,
): number | undefined {
  const [top] = mediaType.split("/");
  const isText = top === "text" || mediaType === "application/json";
  if (isText) return blob && blob.bytes / 4;
  if (/^https?:/i.test(data)) return top === "image" ? REMOTE.image : REMOTE.other;
  const base64 = data.startsWith("data:") ? data.slice(data.indexOf(",") + 1) : data;
  const measures = blob ?? measuresOfBase64(base64, mediaType);
  switch (top) {
    case "image":
      return imageTokens(measures, model);
    case "audio":
      return audioTokens(measures.bytes, mediaType, model);
    case "video":
      return videoTokens(measures.bytes);
    default:
      return mediaType === "application/pdf" ? pdfTokens(measures, model) : measures.bytes / 4;
  }
}
