/**
 * Replaces references and URLs in the file parts of a prompt by their media. Text stays text. Media that cannot
 * be shown, including files at another provider, become notes, so that no file can stop a session.
 */

import type { ModelMessage, ToolResultPart } from "ai";
import { uploadNote, uploadRefusal } from "../context/index.ts";
import { uploadedFile, type UploadedFile } from "../events/index.ts";
import { fileData } from "./file-data.ts";
import {
  asItIs,
  sentFile,
  type BlobExpansion,
  type NamedFile,
  type SentFile,
} from "./sent-file.ts";

type Content<Role extends ModelMessage["role"]> = Exclude<
  Extract<ModelMessage, { readonly role: Role }>["content"],
  string
>;
type ResultContent = Extract<ToolResultPart["output"], { readonly type: "content" }>["value"];

const known = new WeakMap<ModelMessage, boolean>();

/** Whether a message has files that may have to be replaced. The answer is cached. */
export function isToBeExpanded(message: ModelMessage): boolean {
  const { content, role } = message;
  if (typeof content === "string") return false;
  const before = known.get(message);
  if (before !== undefined) return before;
  const now = content.some((part) => mayBeReplaced(part, role));
  known.set(message, now);
  return now;
}

function mayBeReplaced(
  part: Content<"user" | "assistant" | "tool">[number],
  role: ModelMessage["role"],
): boolean {
  if (uploadedFile(part) !== undefined) return true;
  if (part.type === "file" || part.type === "reasoning-file") {
    const kind = kindOf(part.data);
    // URLs in a reply are not fetched.
    return kind !== "named" && (kind !== "address" || role === "user");
  }
  if (part.type !== "tool-result" || part.output.type !== "content") return false;
  return part.output.value.some(mayResultBeReplaced);
}

function mayResultBeReplaced(part: ResultContent[number]): boolean {
  return uploadedFile(part) !== undefined || kindOf(placeOf(part), isBare(part)) !== "named";
}

function kindOf(place: unknown, bare = false): ReturnType<typeof fileData>["kind"] {
  const data = dataIn(place);
  return data === undefined ? "named" : fileData(data, bare).kind;
}

type AddressPart = Extract<ResultContent[number], { readonly url: string }>;

/** By its type: a part of any type may have fields more. */
function isAddress(part: ResultContent[number]): part is AddressPart {
  // Deprecated types still occur.
  // oxlint-disable-next-line typescript/no-deprecated
  return part.type.endsWith("-url");
}

function isBare(part: ResultContent[number]): boolean {
  return !isAddress(part) && "data" in part;
}

function placeOf(part: ResultContent[number]): unknown {
  if (isAddress(part)) return part.url;
  return "data" in part ? part.data : undefined;
}

/** Number of images in a message, by the declared types of its parts. */
export function imagesIn({ content }: ModelMessage): number {
  if (typeof content === "string") return 0;
  const isImage = (part: object): boolean =>
    "mediaType" in part && String(part.mediaType).startsWith("image");
  return content.reduce((sum, part) => {
    if (part.type !== "tool-result") return sum + (isImage(part) ? 1 : 0);
    return sum + (part.output.type === "content" ? part.output.value.filter(isImage).length : 0);
  }, 0);
}

/** The data of a file as text, in any form of the SDK; undefined for bytes. */
function dataIn(data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (typeof data !== "object" || data === null || !("type" in data)) return undefined;
  if (data.type === "data" && "data" in data) return dataIn(data.data);
  return data.type === "url" && "url" in data ? dataIn(data.url) : undefined;
}

/** `isWhole` is false if media are missing that may be available later. */
export async function expandedMessage(
  message: ModelMessage,
  expansion: BlobExpansion,
): Promise<{ readonly message: ModelMessage; readonly isWhole: boolean }> {
  let isWhole = true;
  const file: Send["file"] = async (place, part) => {
    const data = dataIn(place);
    const found = data === undefined ? asItIs : await sentFile(data, part, expansion);
    if ("isMissing" in found) isWhole = false;
    return found;
  };
  const { model, media } = expansion;
  const elsewhere: Send["elsewhere"] = (found) => {
    const why = uploadRefusal(found, model, media);
    return why === undefined ? undefined : uploadNote(found, why);
  };
  const expanded = await withContent(message, { file, elsewhere });
  return { message: expanded, isWhole };
}

interface Send {
  file(place: unknown, part: NamedFile): Promise<SentFile>;
  /** The note for a file at another provider; undefined to send the file unchanged. */
  elsewhere(file: UploadedFile): string | undefined;
}

function noteFor(part: object, send: Send): string | undefined {
  const file = uploadedFile(part);
  return file && send.elsewhere(file);
}

async function withContent(message: ModelMessage, send: Send): Promise<ModelMessage> {
  if (typeof message.content === "string") return message;
  switch (message.role) {
    case "system":
      return message;
    case "user": {
      const content: Content<"user"> = [];
      for (const part of message.content) content.push(await userPart(part, send));
      return { ...message, content };
    }
    case "assistant": {
      const content: Content<"assistant"> = [];
      for (const part of message.content) content.push(...(await assistantParts(part, send)));
      return { ...message, content };
    }
    case "tool": {
      const content: Content<"tool"> = [];
      for (const part of message.content) {
        content.push(part.type === "tool-result" ? await resultPart(part, send) : part);
      }
      return { ...message, content };
    }
  }
}

async function userPart(
  part: Content<"user">[number],
  send: Send,
): Promise<Content<"user">[number]> {
  const note = noteFor(part, send);
  if (note !== undefined) return { type: "text", text: note };
  if (part.type !== "file") return part;
  const sent = await send.file(part.data, part);
  if ("isAsItIs" in sent) return part;
  if ("note" in sent) return { type: "text", text: sent.note };
  return { ...withoutMeasures(part), data: sent.data, mediaType: sent.mediaType };
}

async function assistantParts(
  part: Content<"assistant">[number],
  send: Send,
): Promise<Content<"assistant">> {
  if (part.type === "tool-result") return [await resultPart(part, send)];
  if (part.type !== "file" && part.type !== "reasoning-file") return [part];
  const text = noteFor(part, send);
  if (text !== undefined) return [{ type: "text", text }];
  const sent = await send.file(part.data, { ...part, isMade: true });
  if ("isAsItIs" in sent) return [part];
  // A note would not be reasoning of the model.
  if ("note" in sent) return part.type === "file" ? [{ type: "text", text: sent.note }] : [];
  return [{ ...withoutMeasures(part), data: sent.data, mediaType: sent.mediaType }];
}

async function resultPart(part: ToolResultPart, send: Send): Promise<ToolResultPart> {
  if (part.output.type !== "content") return part;
  const value: ResultContent = [];
  for (const one of part.output.value) value.push(await contentPart(one, send));
  return { ...part, output: { ...part.output, value } };
}

async function contentPart(
  part: ResultContent[number],
  send: Send,
): Promise<ResultContent[number]> {
  const text = noteFor(part, send);
  if (text !== undefined) return { type: "text", text };
  const sent = await send.file(placeOf(part), namedFile(part));
  if ("isAsItIs" in sent) return part;
  if ("note" in sent) return { type: "text", text: sent.note };
  const { data, mediaType } = sent;
  if (isAddress(part)) return { type: "file", data: { type: "data", data }, mediaType };
  if (!("data" in part)) return part;
  // Deprecated parts of the SDK, which still occur, hold their data directly.
  // oxlint-disable-next-line typescript/no-deprecated
  if (part.type !== "file") return { ...withoutMeasures(part), data, mediaType };
  return { ...withoutMeasures(part), data: { type: "data", data }, mediaType };
}

/** Without `blob`, which is not a field of the SDK. */
function withoutMeasures<Part extends object>(part: Part): Part {
  if (!("blob" in part)) return part;
  const { blob: _, ...rest } = part;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return rest as unknown as Part;
}

function namedFile(part: ResultContent[number]): NamedFile {
  // A deprecated part of the SDK only says that it is an image.
  // oxlint-disable-next-line typescript/no-deprecated
  const isImage = part.type.startsWith("image");
  return {
    isBare: isBare(part),
    isAnswer: true,
    ...(isImage ? { mediaType: "image" } : {}),
    ...("mediaType" in part ? { mediaType: part.mediaType } : {}),
    ...("filename" in part ? { filename: part.filename } : {}),
  };
}
