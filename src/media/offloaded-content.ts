/**
 * Offloads binary content in a tool result: parts of the AI SDK and MCP, `data:` URLs and base64 in JSON,
 * bytes. The model gets the tool's model output, else the values as text, followed by the media.
 */

import {
  jsonSchema,
  TurnlogError,
  type BlobMeasures,
  type JsonValue,
  type ModelOutput,
  resemblesReference,
  type StoredUserContent,
  type StoredUserPart,
  isList,
} from "../events/index.ts";
import {
  base64Content,
  bufferContent,
  certainBase64,
  dataUrlContent,
  embeddedDataUrl,
  type FoundContent,
} from "./file-data.ts";
import type { BlobOffload, OffloadedContent } from "./blob-offload.ts";
import { isTextType, isTextual } from "./media-type.ts";
import type { RecordedPart } from "../agent/index.ts";

export interface ToolAnswer {
  readonly output: JsonValue;
  readonly modelOutput: ModelOutput | undefined;
}

type ContentPart = Extract<ModelOutput, { type: "content" }>["value"][number];

type Shown = OffloadedContent & { readonly blob: BlobMeasures };

const shownKinds = /^(image|audio|video)\/|^application\/pdf$/;

/** Whether a value may have content to offload: long text, a reference, or bytes. */
export function mayHoldContent(value: unknown, characters: number): boolean {
  if (typeof value === "string") return value.length >= characters || value.includes("@blob:");
  if (Array.isArray(value)) return value.some((one) => mayHoldContent(one, characters));
  if (typeof value !== "object" || value === null) return false;
  if ("type" in value && value.type === "Buffer") return true;
  return Object.values(value).some((one) => mayHoldContent(one, characters));
}

/** @param characters - Shorter text is not searched. */
export async function offloadedAnswer(
  { output, modelOutput }: ToolAnswer,
  offload: BlobOffload,
  characters: number,
): Promise<ToolAnswer> {
  const walk = new ResultWalk(offload, characters);
  const value = await walk.value(output);
  if (modelOutput !== undefined) {
    return { output: value, modelOutput: await offloadedOutput(modelOutput, offload, characters) };
  }
  return { output: value, modelOutput: withMedia(value, walk.media) };
}

/** The values as text and the media after them; undefined without media. */
function withMedia(value: JsonValue, media: ReadonlyMap<string, Shown>): ModelOutput | undefined {
  if (media.size === 0) return undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return {
    type: "content",
    value: [{ type: "text", text }, ...[...media.values()].map(filePart)],
  };
}

function filePart({ data, mediaType, blob }: Shown): ContentPart {
  const known = { blob };
  return { type: "file", data: { type: "data", data }, mediaType, ...known };
}

async function offloadedOutput(
  output: ModelOutput,
  offload: BlobOffload,
  characters: number,
): Promise<ModelOutput> {
  const walk = new ResultWalk(offload, characters);
  switch (output.type) {
    case "text":
    case "error-text": {
      const value = await walk.text(output.value);
      const shown = output.type === "text" ? withMedia(value, walk.media) : undefined;
      return shown ?? { ...output, value };
    }
    case "json":
    case "error-json": {
      const value = await walk.value(jsonSchema.parse(output.value));
      const shown = output.type === "json" ? withMedia(value, walk.media) : undefined;
      return shown ?? { ...output, value };
    }
    case "content": {
      const parts: ContentPart[] = [];
      for (const part of output.value) parts.push(await contentPart(part, offload, walk));
      return { ...output, value: parts };
    }
    case "execution-denied":
      return output;
  }
}

async function contentPart(
  part: ContentPart,
  offload: BlobOffload,
  walk: ResultWalk,
): Promise<ContentPart> {
  // Deprecated parts of the SDK still occur.
  // oxlint-disable-next-line typescript/no-deprecated
  switch (part.type) {
    case "text":
      return { ...part, text: await walk.text(part.text) };
    case "file": {
      if (part.data === null || typeof part.data !== "object" || !("type" in part.data)) {
        return part;
      }
      if (part.data.type !== "data" || typeof part.data.data !== "string") return part;
      const offloaded = await offloadedMedium(part.data.data, part.mediaType, offload);
      if (offloaded === undefined) return part;
      if ("note" in offloaded) return { type: "text", text: offloaded.note };
      const { data, mediaType, blob } = offloaded;
      return { ...part, data: { type: "data", data }, mediaType, ...(blob && { blob }) };
    }
    case "file-data":
    case "image-data": {
      const offloaded = await offloadedMedium(part.data, part.mediaType, offload);
      if (offloaded === undefined) return part;
      return "note" in offloaded
        ? { type: "text", text: offloaded.note }
        : { ...part, ...offloaded };
    }
    default:
      return part;
  }
}

/** A note instead of content over the limit: the tool has run, so its result cannot be refused. */
interface LeftOut {
  readonly note: string;
}

async function offloadedMedium(
  data: string,
  declared: string,
  offload: BlobOffload,
): Promise<OffloadedContent | LeftOut | undefined> {
  const known = offload.recall(data);
  if (known !== undefined) return known;
  const found = dataUrlContent(data);
  const content = found?.content ?? base64Content(data);
  if (content === undefined) return undefined;
  const type = found?.declared ?? declared;
  if (await isTextual(content, type)) return undefined;
  const offloaded = await offloadedOrLeftOut({ content, declared: type }, offload);
  const isUnchanged =
    "data" in offloaded && offloaded.blob === undefined && offloaded.mediaType === type;
  return isUnchanged ? undefined : offloaded;
}

async function offloadedOrLeftOut(
  { content, declared }: FoundContent,
  offload: BlobOffload,
): Promise<OffloadedContent | LeftOut> {
  try {
    return await offload.offload(content, declared);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "BLOB_TOO_LARGE") throw error;
    const what = declared ?? "binary content";
    return {
      note: `[${what} of ${content.byteLength} bytes left out: it is more than this session may keep]`,
    };
  }
}

class ResultWalk {
  readonly #offload: BlobOffload;
  readonly #characters: number;
  /** Media for the model, by reference. */
  readonly media = new Map<string, Shown>();

  constructor(offload: BlobOffload, characters: number) {
    this.#offload = offload;
    this.#characters = characters;
  }

  async value(value: JsonValue, declared?: string): Promise<JsonValue> {
    if (typeof value === "string") return await this.text(value, declared);
    if (typeof value !== "object" || value === null) return value;
    if (isList(value)) {
      const items: JsonValue[] = [];
      for (const item of value) items.push(await this.value(item));
      return items;
    }
    const content = bufferContent(value);
    if (content !== undefined) return await this.#moved({ content, declared }, value);
    const type = declaredType(value);
    const entries: [string, JsonValue][] = [];
    for (const [key, inner] of Object.entries(value)) {
      const isContent = key === "data" || key === "blob" || key === "base64";
      entries.push([key, await this.value(inner, isContent ? type : undefined)]);
    }
    return Object.fromEntries(entries);
  }

  /** @param declared - The type that a field of the same object declares. */
  async text(text: string, declared?: string): Promise<string> {
    const known = this.#offload.recall(text);
    if (known !== undefined) {
      this.#show(known);
      return text;
    }
    this.#offload.recallAll(text);
    if (text.length < this.#characters) return text;
    const isBinary = declared !== undefined && !isTextType(declared);
    const content = (isBinary ? base64Content(text) : undefined) ?? certainBase64(text);
    const found = dataUrlContent(text) ?? (content && { content, declared });
    if (found !== undefined) {
      const moved = await this.#moved(found, text);
      return typeof moved === "string" ? moved : text;
    }
    return await this.#withoutDataUrls(text);
  }

  /** The reference for content, or `place` if the content stays. */
  async #moved(found: FoundContent, place: JsonValue): Promise<JsonValue> {
    const { content, declared } = found;
    if (declared !== undefined && (await isTextual(content, declared))) return place;
    const offloaded = await offloadedOrLeftOut(found, this.#offload);
    if ("note" in offloaded) return offloaded.note;
    const { data, mediaType, blob } = offloaded;
    if (blob === undefined) return typeof place === "string" ? place : data;
    this.#show({ data, mediaType, blob });
    return data;
  }

  #show(medium: Shown): void {
    if (shownKinds.test(medium.mediaType)) this.media.set(medium.data, medium);
  }

  /** Replaces `data:` URLs within text by references. They are not shown: the text is the result. */
  async #withoutDataUrls(text: string): Promise<string> {
    if (!text.includes(";base64,")) return text;
    let result = "";
    let end = 0;
    for (const match of text.matchAll(embeddedDataUrl)) {
      const [url] = match;
      if (url.length < this.#characters) continue;
      const found = dataUrlContent(url);
      if (found === undefined) continue;
      const offloaded = await offloadedOrLeftOut(found, this.#offload);
      if (!("note" in offloaded) && offloaded.blob === undefined) continue;
      result +=
        text.slice(end, match.index) + ("note" in offloaded ? offloaded.note : offloaded.data);
      end = match.index + url.length;
    }
    return result + text.slice(end);
  }
}

/** The type that an object declares, as in MCP and the AI SDK. */
function declaredType(value: { readonly [key: string]: JsonValue }): string | undefined {
  const type = value["mimeType"] ?? value["mediaType"];
  return typeof type === "string" ? type : undefined;
}

// Offloads the files of a user message, and the files that a model generates.

type StoredFile = Extract<StoredUserPart, { readonly type: "file" }>;

export type MadeFile = Extract<
  RecordedPart,
  { readonly type: "part.file" | "part.reasoning-file" }
>;

/** @throws TurnlogError `BLOB_TOO_LARGE`, `INVALID_INPUT` for a reference to a blob of another session */
export async function offloadedInput(
  session: string,
  content: StoredUserContent,
  offload: BlobOffload,
): Promise<StoredUserContent> {
  if (typeof content === "string") return content;
  const parts: StoredUserPart[] = [];
  for (const part of content) {
    parts.push(part.type === "file" ? await offloadedFile(session, part, offload) : part);
  }
  return parts;
}

async function offloadedFile(
  session: string,
  part: StoredFile,
  offload: BlobOffload,
): Promise<StoredFile> {
  const { data } = part;
  // A file at a provider has no content here.
  if (typeof data !== "string") return part;
  if (resemblesReference(data)) return knownFile(session, part, data, offload);
  const found = dataUrlContent(data);
  const content = found?.content ?? base64Content(data);
  if (content === undefined) return part;
  const declared = found?.declared ?? part.mediaType;
  // Text stays in the event, where it can be searched and counted.
  if (await isTextual(content, declared)) return part;
  const offloaded = await offload.offload(content, declared);
  return isUnchanged(offloaded, declared) ? part : { ...part, ...offloaded };
}

function knownFile(
  session: string,
  part: StoredFile,
  reference: string,
  offload: BlobOffload,
): StoredFile {
  const known = offload.recall(reference);
  if (known !== undefined) return { ...part, ...known };
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has no blob ${reference}. Send the content itself: a message can refer only to blobs that the session has.`,
    { session },
  );
}

/** Small content of the declared type stays as it is. */
function isUnchanged(
  { blob, mediaType }: { readonly blob?: unknown; readonly mediaType: string },
  declared: string,
): boolean {
  return blob === undefined && mediaType === declared;
}

export function isMadeFile(part: RecordedPart): part is MadeFile {
  return part.type === "part.file" || part.type === "part.reasoning-file";
}

export async function offloadedPart(part: MadeFile, offload: BlobOffload): Promise<MadeFile> {
  const { data, mediaType } = part.data;
  if (typeof data !== "string") return part;
  const known = offload.recall(data);
  if (known !== undefined) return { ...part, data: { ...part.data, ...known } };
  const content = base64Content(data);
  if (content === undefined || (await isTextual(content, mediaType))) return part;
  const offloaded = await offload.offload(content, mediaType);
  return isUnchanged(offloaded, mediaType)
    ? part
    : { ...part, data: { ...part.data, ...offloaded } };
}
