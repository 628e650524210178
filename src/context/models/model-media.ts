/**
 * Which media a model accepts and how much of them in one request: tables from the providers' documentation.
 * Unknown families have no limits here; their providers decide. Pure.
 */

import { deepFreeze, type ModelName, uploadNames, type UploadedFile } from "../../events/index.ts";
import { modelFamily } from "./model-family.ts";

export interface MediaFile {
  readonly mediaType: string;
  readonly bytes: number;
  readonly width?: number;
  readonly height?: number;
  readonly pages?: number;
}

/** Limits on media. An absent limit does not apply. */
export interface MediaLimits {
  /** Accepted media types, or their beginnings (`image/`). Default: all. */
  readonly types?: readonly string[];
  /** Text types that are sent as files; others are sent as text. Default: all. */
  readonly textFiles?: readonly string[];
  /** The most base64 characters of a picture. */
  readonly pictureCharacters?: number;
  /** The most pixels of a picture's longer edge. */
  readonly pictureEdge?: number;
  /** Another edge for requests with more pictures than `more`. */
  readonly pictureEdgeAmong?: { readonly more: number; readonly edge: number };
  readonly pictures?: number;
  readonly pages?: number;
  /** The most characters of a request, files as base64. */
  readonly requestCharacters?: number;
}

const MB = 1024 * 1024;
/** The share of a request that is counted here, without escapes and field names. */
const COUNTED = 0.95;

function request(megabytes: number): number {
  return Math.floor(megabytes * MB * COUNTED);
}

const USUAL_PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * "Vision" and "PDF support", platform.claude.com/docs/en/build-with-claude: 8,000 pixels, 2,000 among more
 * than 20 pictures; 600 pictures and pages, 100 with a window of 200,000 tokens. The SDK sends plain texts as
 * files. 5 MB of base64 a picture: github.com/lobehub/lobehub/pull/14711. 32 MB a request:
 * github.com/anthropics/anthropic-sdk-python/issues/938.
 */
const claude: MediaLimits = deepFreeze({
  types: [...USUAL_PICTURES, "application/pdf", "text/"],
  textFiles: ["text/plain"],
  pictureCharacters: 5 * MB,
  pictureEdge: 8000,
  pictureEdgeAmong: { more: 20, edge: 2000 },
  pictures: 600,
  pages: 600,
  requestCharacters: request(32),
});
const claudeOfSmallWindow: MediaLimits = deepFreeze({ ...claude, pictures: 100, pages: 100 });
const SMALL_WINDOW = /claude-3|haiku|(sonnet|opus)-4([-.][0-5])?([@:]|-\d{8}|-v\d|$)/;

/**
 * "Images and vision" and "File inputs", platform.openai.com/docs/guides: 500 pictures and 50 MB a
 * request. The SDK's client sends no other documents than PDF.
 */
const gpt: MediaLimits = deepFreeze({
  types: [...USUAL_PICTURES, "application/pdf", "text/"],
  textFiles: [],
  pictures: 500,
  requestCharacters: request(50),
});
/** "Audio and speech", same guides: only models made for it, without pictures. */
const gptAudio: MediaLimits = deepFreeze({
  types: ["audio/", "text/"],
  textFiles: [],
  requestCharacters: request(50),
});

/**
 * "File input methods", "Image", "Audio", "Video" and "Document understanding",
 * ai.google.dev/gemini-api/docs: 100 MB a request, 3,600 pictures, 1,000 pages. Vertex AI takes 20 MB.
 */
const gemini: MediaLimits = deepFreeze({
  types: [
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "audio/",
    "video/",
    "application/pdf",
    "text/",
  ],
  pictures: 3600,
  pages: 1000,
  requestCharacters: request(100),
});

const textOnly: MediaLimits = deepFreeze({ types: ["text/"], textFiles: [] });

/** The media limits of a model; undefined for unknown families. */
export function modelMedia(model: ModelName): MediaLimits | undefined {
  const { provider, modelId } = model;
  const isVertex = /vertex/i.test(provider);
  switch (modelFamily(model).name) {
    case "anthropic": {
      if (/claude-(2|instant)/.test(modelId)) return textOnly;
      const limits = SMALL_WINDOW.test(modelId) ? claudeOfSmallWindow : claude;
      // "Request size limits", platform.claude.com/docs/en/api/overview.
      if (/bedrock/i.test(provider)) return { ...limits, requestCharacters: request(20) };
      return isVertex ? { ...limits, requestCharacters: request(30) } : limits;
    }
    case "google":
      if (/gemma/i.test(modelId)) return undefined;
      return isVertex ? { ...gemini, requestCharacters: request(20) } : gemini;
    case "openai":
      if (/audio|realtime/.test(modelId)) return gptAudio;
      return /gpt-3\.5|gpt-4$|gpt-oss|o1-mini|o1-preview|o3-mini/.test(modelId) ? textOnly : gpt;
    case "deepseek":
      return /deepseek-(chat|reasoner|v\d|r\d)/i.test(modelId) ? textOnly : undefined;
    default:
      return undefined;
  }
}

export type MediaRefusal =
  | { readonly kind: "type" }
  /** For a picture: a smaller copy would be accepted. */
  | { readonly kind: "characters" | "edge"; readonly most: number; readonly longestEdge: number }
  | { readonly kind: "pages" | "request"; readonly most: number };

/** The edge of the smaller copy of a picture with too many bytes: models use no more pixels. */
const ENOUGH = 1568;

/** Undefined if the model accepts the file. @param pictures - The number of pictures in the request. */
export function mediaRefusal(
  file: MediaFile,
  limits: MediaLimits,
  pictures: number,
): MediaRefusal | undefined {
  const { mediaType, bytes, width = 0, height = 0, pages = 0 } = file;
  const { types, textFiles, requestCharacters = Number.POSITIVE_INFINITY } = limits;
  if (types !== undefined && !types.some((type) => matchesType(mediaType, type)))
    return { kind: "type" };
  if (textFiles !== undefined && mediaType.startsWith("text/") && !textFiles.includes(mediaType)) {
    return { kind: "type" };
  }
  if (limits.pages !== undefined && pages > limits.pages) {
    return { kind: "pages", most: limits.pages };
  }
  const characters = asBase64(bytes);
  if (!mediaType.startsWith("image/")) {
    return characters > requestCharacters
      ? { kind: "request", most: requestCharacters }
      : undefined;
  }
  const { pictureEdge, pictureEdgeAmong } = limits;
  const most = Math.min(limits.pictureCharacters ?? requestCharacters, requestCharacters);
  const isAmong = pictureEdgeAmong !== undefined && pictures > pictureEdgeAmong.more;
  const edge = isAmong ? pictureEdgeAmong.edge : (pictureEdge ?? Number.POSITIVE_INFINITY);
  if (characters > most) {
    return { kind: "characters", most, longestEdge: Math.min(edge, ENOUGH) };
  }
  if (Math.max(width, height) <= edge) return undefined;
  return { kind: "edge", most: edge, longestEdge: edge };
}

function matchesType(mediaType: string, type: string): boolean {
  return type.endsWith("/") ? mediaType.startsWith(type) : mediaType === type;
}

export function asBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Providers whose SDK packages refuse references to uploaded files. */
const withoutFiles: ReadonlySet<string> = new Set([
  "alibaba",
  "amazon-bedrock",
  "cohere",
  "gateway",
  "groq",
  "mistral",
  "perplexity",
]);

/** Media types of uploaded files that a provider's SDK package accepts. Default: all. */
const takenUploads: Readonly<Record<string, (mediaType: string) => boolean>> = {
  // Gemini needs the full type.
  google: (mediaType) => /^[^/]+\/[^/*]+$/.test(mediaType),
  moonshotai: (mediaType) => /^(image|video)(\/|$)/.test(mediaType),
  deepseek: (mediaType) => /^image(\/|$)/.test(mediaType),
};

/** The provider name under which a model finds an uploaded file; undefined if it finds none. */
function holderOf({ provider }: ModelName): string | undefined {
  // Clouds that serve models of other makers do not have their files.
  if (/vertex|bedrock/i.test(provider)) return undefined;
  const [name = ""] = provider.split(".");
  if (name === "azure" && provider !== "azure.responses") return undefined;
  return withoutFiles.has(name) ? undefined : name;
}

/**
 * Why a model is not shown an uploaded file, in words for the model.
 * @param model - Undefined if it is not known: then every file is shown.
 */
export function uploadRefusal(
  { reference, mediaType }: UploadedFile,
  model: ModelName | undefined,
  limits?: MediaLimits,
): string | undefined {
  if (model === undefined) return undefined;
  const holder = holderOf(model);
  if (holder === undefined || !Object.hasOwn(reference, holder)) {
    return "it lies with another provider";
  }
  // Only the kind of media is checked: the provider knows its own files.
  const [kind = ""] = mediaType.split("/");
  const isKind = limits?.types?.some((type) => type.startsWith(kind)) ?? true;
  const isTaken = isKind && (takenUploads[holder]?.(mediaType) ?? true);
  return isTaken ? undefined : "this model does not take such files";
}

export function uploadNote({ reference, mediaType, filename }: UploadedFile, why: string): string {
  const called = filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
  return `[The file${called} (${mediaType}) is not shown here: ${why}. ${uploadNames(reference)}]`;
}
