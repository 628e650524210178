/** Takes media out of JSON: base64 and `data:` URLs become files, so that a model sees images. Pure. */

import { detectMediaType } from "@ai-sdk/provider-utils";
import { resemblesReference } from "../events/index.ts";
import {
  base64Of,
  certainBase64,
  dataUrlContent,
  isTextType,
  UNKNOWN_TYPE,
} from "../media/index.ts";

interface FoundMedium {
  readonly mediaType: string;
  readonly data: string;
}

export interface ReadJson {
  /** JSON with a note instead of each file. */
  readonly text: string;
  readonly media: readonly FoundMedium[];
}

/** Fewest characters of an image, sound or document, and of any other content, that becomes a file. */
const SHORTEST_MEDIUM = 1024;
const SHORTEST = 5464;

const shownKinds = /^(?:image|audio|video)\/|^application\/pdf$/;

export function readJson(value: unknown): ReadJson {
  const media: FoundMedium[] = [];
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    const medium = typeof inner === "string" ? mediumIn(inner) : undefined;
    if (medium === undefined) return inner;
    media.push(medium);
    return `[file ${media.length} behind this text]`;
  });
  return { text, media };
}

function mediumIn(text: string): FoundMedium | undefined {
  // A recorded result refers to its blob, which has a type.
  if (resemblesReference(text)) return { mediaType: UNKNOWN_TYPE, data: text };
  if (text.length < SHORTEST_MEDIUM) return undefined;
  const found = dataUrlContent(text);
  const content = found?.content ?? certainBase64(text);
  if (content === undefined) return undefined;
  const mediaType = found?.declared ?? detectMediaType({ data: content }) ?? UNKNOWN_TYPE;
  const isFile = shownKinds.test(mediaType) || text.length >= SHORTEST;
  if (!isFile || isTextType(mediaType)) return undefined;
  return { mediaType, data: base64Of(content) };
}
