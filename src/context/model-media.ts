/**
 * What a model takes beside text, and how much of it in one request: tables by what providers publish.
 * Pure; a family that nothing is known of has no limits here, and its provider has the last word.
 */

import { deepFreeze, type ModelName, uploadNames, type UploadedFile } from "../events/index.ts";
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

/** Which media a model takes and how much of them. A limit that is absent does not hold. */
export interface MediaLimits {
  /** Media types, or their beginnings (`image/`); absent where all are sent. */
  readonly types?: readonly string[];
  /** Of texts, those that are sent as files; absent where all are. Others are sent as words. */
  readonly textFiles?: readonly string[];
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
/** Of a request, what is counted here: not its escapes, nor the names of its fields. */
const COUNTED = 0.95;

function request(megabytes: number): number {
  return Math.floor(megabytes * MB * COUNTED);
}

const USUAL_PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * "Vision" and "PDF support", platform.claude.com/docs/en/build-with-claude: four formats, 8,000 pixels,
 * 2,000 where a request has more than 20 pictures; 600 pictures and pages, 100 of models whose window
 * is 200,000 tokens. Of texts the SDK's client sends plain ones as files. 5 MB a picture, counted as base64: "image exceeds 5 MB maximum" tells its length
 * (github.com/lobehub/lobehub/pull/14711). 32 MB a request: github.com/anthropics/anthropic-sdk-python/issues/938.
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
 * request. Of other documents than PDF the SDK's client says that it does not send them.
 */
const gpt: MediaLimits = deepFreeze({
  types: [...USUAL_PICTURES, "application/pdf", "text/"],
  textFiles: [],
  pictures: 500,
  requestCharacters: request(50),
});
/** "Audio and speech", there: only models that are made for it, and they take no pictures. */
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

/** What a model takes; undefined where nothing is known of its kind. */
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

/** Why a model does not take a file as it is. */
export type MediaRefusal =
  | { readonly kind: "type" }
  /** Of a picture. A smaller copy would be taken. */
  | { readonly kind: "characters" | "edge"; readonly most: number; readonly longestEdge: number }
  | { readonly kind: "pages" | "request"; readonly most: number };

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
  const { types, textFiles, requestCharacters = Number.POSITIVE_INFINITY } = limits;
  if (types !== undefined && !types.some((type) => taken(mediaType, type))) return { kind: "type" };
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

function taken(mediaType: string, type: string): boolean {
  return type.endsWith("/") ? mediaType.startsWith(type) : mediaType === type;
}

/** Characters of so many bytes. */
export function asBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Whose clients refuse references; and the gateway, behind which are others. */
const withoutFiles: ReadonlySet<string> = new Set([
  "alibaba",
  "amazon-bedrock",
  "cohere",
  "gateway",
  "groq",
  "mistral",
  "perplexity",
]);

/** What a client takes of a reference that names its provider; all of it where none is named. */
const takenUploads: Readonly<Record<string, (mediaType: string) => boolean>> = {
  // Gemini is told the whole type.
  google: (mediaType) => /^[^/]+\/[^/*]+$/.test(mediaType),
  moonshotai: (mediaType) => /^(image|video)(\/|$)/.test(mediaType),
  deepseek: (mediaType) => /^image(\/|$)/.test(mediaType),
};

/** The name under which a model's client looks for a file; undefined where it looks for none. */
function holderOf({ provider }: ModelName): string | undefined {
  // Clouds that serve others' models do not have the files of those.
  if (/vertex|bedrock/i.test(provider)) return undefined;
  const [name = ""] = provider.split(".");
  if (name === "azure" && provider !== "azure.responses") return undefined;
  return withoutFiles.has(name) ? undefined : name;
}

/**
 * Why a model is not shown a file that lies with a provider, in words for the model; undefined where it is.
 * @param model - Undefined where nobody knows who is to be shown it: then nothing is held back.
 * @param limits - Undefined where nothing is known of what it takes.
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
  // Which documents it takes is for its provider to say, which has them.
  const [kind = ""] = mediaType.split("/");
  const isKind = limits?.types?.some((type) => type.startsWith(kind)) ?? true;
  const isTaken = isKind && (takenUploads[holder]?.(mediaType) ?? true);
  return isTaken ? undefined : "this model does not take such files";
}

/** What a model is told in the place of such a file. */
export function uploadNote({ reference, mediaType, filename }: UploadedFile, why: string): string {
  const called = filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
  return `[The file${called} (${mediaType}) is not shown here: ${why}. ${uploadNames(reference)}]`;
}
