/**
 * What models take of media, by what their providers publish. Conservative only where a refusal is
 * certain: it would end every later step of the session too. What is not known here is sent.
 */

import { modelFamily } from "../../context/index.ts";
import type { ModelName } from "../../events/index.ts";
import type { KnownBlob } from "../../projections/index.ts";
import { UNKNOWN_TYPE } from "./media-type.ts";

interface Taken {
  readonly types: RegExp;
  /** Bytes of one picture. */
  readonly imageBytes?: number;
  /** Pixels of its longer side. */
  readonly imageSide?: number;
  /** Bytes of one file of another kind. */
  readonly fileBytes?: number;
}

const families: Partial<Record<ReturnType<typeof modelFamily>["name"], Taken>> = {
  // "Vision" and "PDF support", platform.claude.com/docs/en/build-with-claude: 5 MB an image by the
  // API (as base64: 10 MB since 2026 for some models), 8,000 px a side, 32 MB a request.
  anthropic: {
    types: /^image\/(jpeg|png|gif|webp)$|^application\/pdf$|^text\//,
    imageBytes: 5 * 1024 * 1024,
    imageSide: 8000,
    fileBytes: 24_000_000,
  },
  // "Images and vision", "File inputs" and "Audio", platform.openai.com/docs/guides: 50 MB a request.
  openai: {
    types: /^image\/(jpeg|png|gif|webp)$|^audio\/|^application\/(?!octet-stream)|^text\//,
    imageBytes: 37_000_000,
    fileBytes: 37_000_000,
  },
  // "Image, document, audio and video understanding", ai.google.dev/gemini-api/docs: 20 MB a request inline.
  google: {
    types:
      /^image\/(jpeg|png|webp|hei[cf](-sequence)?)$|^(audio|video)\/|^application\/pdf$|^text\//,
    imageBytes: 14_000_000,
    fileBytes: 14_000_000,
  },
};

/** Why a model is not shown a blob, in words for the model; undefined where it is. */
export function whyNotShown(
  { mediaType, bytes, width = 0, height = 0, fault }: KnownBlob,
  model: ModelName,
): string | undefined {
  if (fault !== undefined) return `it is broken: ${fault}`;
  if (mediaType === UNKNOWN_TYPE) return "nobody knows what it is";
  const taken = families[modelFamily(model).name];
  if (taken === undefined) return undefined;
  if (!taken.types.test(mediaType)) return "this model does not take such files";
  const isImage = mediaType.startsWith("image/");
  const most = isImage ? taken.imageBytes : taken.fileBytes;
  if (most !== undefined && bytes > most) return `this model takes at most ${most} bytes`;
  const { imageSide } = taken;
  if (isImage && imageSide !== undefined && Math.max(width, height) > imageSide) {
    return `this model takes at most ${imageSide} pixels a side, and it has ${width} × ${height}`;
  }
  return undefined;
}
