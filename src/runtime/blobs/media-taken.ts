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
  /** Pixels of its longer side; and the same in a prompt of more than so many pictures. */
  readonly imageSide?: number;
  readonly imageSideOfMany?: number;
  /** Bytes of one file of another kind. */
  readonly fileBytes?: number;
}

/** More pictures than that are many. */
export const MANY_IMAGES = 20;

const families: Partial<Record<ReturnType<typeof modelFamily>["name"], Taken>> = {
  // "Vision" and "PDF support", platform.claude.com/docs/en/build-with-claude: 5 MB a picture, 8,000
  // pixels a side, 2,000 in a request of more than 20, 32 MB a request. Bytes are counted as base64:
  // "image exceeds 5 MB maximum" tells its length (github.com/lobehub/lobehub/pull/14711).
  anthropic: {
    types: /^image\/(jpeg|png|gif|webp)$|^application\/pdf$|^text\//,
    imageBytes: (5 * 1024 * 1024 * 3) / 4,
    imageSide: 8000,
    imageSideOfMany: 2000,
    fileBytes: 24_000_000,
  },
  // "Images and vision", platform.openai.com/docs/guides: the kinds, and 50 MB a request, as base64.
  openai: {
    types: /^image\/(jpeg|png|gif|webp)$|^audio\/|^application\/(?!octet-stream)|^text\//,
    imageBytes: 37_000_000,
    fileBytes: 37_000_000,
  },
  // "Image", "document", "audio" and "video understanding", ai.google.dev/gemini-api/docs: the kinds,
  // and 20 MB for a request with content in it.
  google: {
    types:
      /^image\/(jpeg|png|webp|hei[cf](-sequence)?)$|^(audio|video)\/|^application\/pdf$|^text\//,
    imageBytes: 14_000_000,
    fileBytes: 14_000_000,
  },
};

/**
 * Why a model is not shown a blob, in words for the model; undefined where it is.
 * @param ofMany - Whether the prompt has more than {@link MANY_IMAGES} pictures.
 */
export function whyNotShown(
  { mediaType, bytes, width = 0, height = 0, fault }: KnownBlob,
  model: ModelName,
  ofMany: boolean,
): string | undefined {
  if (fault !== undefined) return `it is broken: ${fault}`;
  if (mediaType === UNKNOWN_TYPE) return "nobody knows what it is";
  const taken = families[modelFamily(model).name];
  if (taken === undefined) return undefined;
  if (!taken.types.test(mediaType)) return "this model does not take such files";
  const isImage = mediaType.startsWith("image/");
  const most = isImage ? taken.imageBytes : taken.fileBytes;
  if (most !== undefined && bytes > most) return `this model takes at most ${most} bytes`;
  const side = ofMany ? (taken.imageSideOfMany ?? taken.imageSide) : taken.imageSide;
  if (!isImage || side === undefined || Math.max(width, height) <= side) return undefined;
  const among = ofMany ? `, among more than ${MANY_IMAGES} pictures` : "";
  return `it has ${width} × ${height} pixels, and this model takes at most ${side} a side${among}`;
}
