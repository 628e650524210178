/**
 * The messages of a prompt with their media in place of references, for the model that is called next.
 * A reference is followed only where media stand, and only to a blob that the session has: what anybody
 * writes in words stays words. What cannot be shown becomes a note, so that no blob can stop a session;
 * so does a file that lies with another provider than the model's.
 */

import type { ModelMessage, ToolResultPart } from "ai";
import {
  byId,
  fileElsewhere,
  readBlob,
  referredBlob,
  resemblesReference,
  type BlobStore,
  type FileElsewhere,
  type ModelName,
} from "../../events/index.ts";
import type { BlobsState, KnownBlob } from "../../projections/index.ts";
import {
  noteElsewhere,
  SCALED_CHARACTERS,
  whyNotThere,
  type MediaLimits,
} from "../../context/index.ts";
import { whyNotShown, type NotShown } from "./media-taken.ts";
import type { ScaledPicture, ScalePicture } from "./scaled-picture.ts";

export interface BlobExpansion {
  readonly blobs: BlobsState;
  /** Where they lie; undefined where nobody has them. */
  readonly store: BlobStore | undefined;
  /** What the model takes; undefined where nothing is known of it. */
  readonly media: MediaLimits | undefined;
  /** Who is shown them; undefined where nobody knows. */
  readonly model: ModelName | undefined;
  /** How many pictures there are in the prompt. */
  readonly pictures: number;
  /** Who makes smaller copies of pictures, if anybody does. */
  readonly scaler: () => Promise<ScalePicture | undefined>;
}

/** A reference as it is sent: its bytes as base64, or what the model is told instead. */
type Sent = { readonly data: string; readonly mediaType: string } | { readonly note: string };

type Content<Role extends ModelMessage["role"]> = Exclude<
  Extract<ModelMessage, { readonly role: Role }>["content"],
  string
>;
type ResultContent = Extract<ToolResultPart["output"], { readonly type: "content" }>["value"];

const plain = new WeakSet<ModelMessage>();

/** Whether a message refers to blobs, or to files that lie with a provider; looked at once. */
export function refersToFiles(message: ModelMessage): boolean {
  if (plain.has(message)) return false;
  const { content } = message;
  if (typeof content !== "string" && content.some((part) => referencesIn(part))) return true;
  plain.add(message);
  return false;
}

function referencesIn(part: Content<"user" | "assistant" | "tool">[number]): boolean {
  if (part.type === "file" || part.type === "reasoning-file") {
    return isReference(part);
  }
  if (part.type !== "tool-result" || part.output.type !== "content") return false;
  return part.output.value.some(isReference);
}

function isReference(part: object): boolean {
  if (fileElsewhere(part) !== undefined) return true;
  return "data" in part && referenceIn(part.data) !== undefined;
}

/** How many pictures a message refers to, by what its parts say of themselves. */
export function imagesIn({ content }: ModelMessage): number {
  if (typeof content === "string") return 0;
  const isImage = (part: object): boolean =>
    "mediaType" in part && String(part.mediaType).startsWith("image");
  return content.reduce((sum, part) => {
    if (part.type !== "tool-result") return sum + (isImage(part) ? 1 : 0);
    return sum + (part.output.type === "content" ? part.output.value.filter(isImage).length : 0);
  }, 0);
}

/** The reference in the data of a file, in whichever form the SDK has data. */
function referenceIn(data: unknown): string | undefined {
  if (typeof data === "string") return resemblesReference(data) ? data : undefined;
  if (typeof data !== "object" || data === null || !("type" in data)) return undefined;
  return data.type === "data" && "data" in data ? referenceIn(data.data) : undefined;
}

/** A message as it is sent. */
export async function expandedMessage(
  message: ModelMessage,
  expansion: BlobExpansion,
): Promise<{ readonly message: ModelMessage; readonly isWhole: boolean }> {
  let isWhole = true;
  const sent = async (reference: string, name: string | undefined): Promise<Sent> => {
    const found = await contentOf(reference, name, expansion);
    if ("isMissing" in found) isWhole = false;
    return found;
  };
  const { model, media } = expansion;
  const elsewhere = (file: FileElsewhere): string | undefined => {
    const why = whyNotThere(file, model, media);
    return why === undefined ? undefined : noteElsewhere(file, why);
  };
  const expanded = await withContent(message, { blob: sent, elsewhere });
  return { message: expanded, isWhole };
}

/** What is sent of what a message refers to. */
interface Send {
  blob(reference: string, name: string | undefined): Promise<Sent>;
  /** The note in the place of a file that lies with a provider; undefined where it is shown as it is. */
  elsewhere(file: FileElsewhere): string | undefined;
}

function noteFor(part: object, send: Send): string | undefined {
  const file = fileElsewhere(part);
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
  const reference = part.type === "file" ? referenceIn(part.data) : undefined;
  if (part.type !== "file" || reference === undefined) return part;
  const sent = await send.blob(reference, part.filename);
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
  const reference = referenceIn(part.data);
  if (reference === undefined) return [part];
  const sent = await send.blob(reference, part.type === "file" ? part.filename : undefined);
  // A note is not what the model had thought.
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
  if (!("data" in part)) return part;
  const reference = referenceIn(part.data);
  if (reference === undefined) return part;
  const sent = await send.blob(reference, "filename" in part ? part.filename : undefined);
  if ("note" in sent) return { type: "text", text: sent.note };
  const { data, mediaType } = sent;
  // The older kinds of the SDK, which still come, have their data as it is.
  // oxlint-disable-next-line typescript/no-deprecated
  if (part.type !== "file") return { ...withoutMeasures(part), data, mediaType };
  return { ...withoutMeasures(part), data: { type: "data", data }, mediaType };
}

/** What is known of a blob is for us, and no field of the SDK's. */
function withoutMeasures<Part extends object>(part: Part): Part {
  if (!("blob" in part)) return part;
  const { blob: _, ...rest } = part;
  // The SDK's own type has no such field: without it, the part is what its type says.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return rest as unknown as Part;
}

type Found = Sent | { readonly note: string; readonly isMissing: true };

async function contentOf(
  reference: string,
  name: string | undefined,
  expansion: BlobExpansion,
): Promise<Found> {
  const { blobs, store, media, pictures } = expansion;
  const sha256 = referredBlob(reference);
  const blob = sha256 === undefined ? undefined : byId(blobs.stored, sha256);
  if (sha256 === undefined || blob === undefined) {
    return { note: `[A file stood here, and this session has none of that name: ${reference}]` };
  }
  const note = (why: string): string => noteOf(reference, blob, name, why);
  const refused = whyNotShown(blob, media, pictures);
  const copy = refused === undefined ? sameContent : await smallerCopy(refused, expansion);
  if (refused !== undefined && copy === undefined) return { note: note(refused.why) };
  if (store === undefined) return { note: note("it is not at hand"), isMissing: true };
  try {
    const content = await readBlob(store, sha256);
    const sent = await copy?.(content, blob.mediaType);
    if (sent === undefined) return { note: note(refused?.why ?? "it cannot be read") };
    return { data: Buffer.from(sent.content).toString("base64"), mediaType: sent.mediaType };
  } catch {
    // Whatever is wrong with it: `verify` says it, and the session goes on.
    return { note: note("it cannot be read"), isMissing: true };
  }
}

/** What is made of content so that it can be sent, or nothing. */
type Copy = (content: Uint8Array, mediaType: string) => Promise<ScaledPicture | undefined>;

const sameContent: Copy = (content, mediaType) => Promise.resolve({ content, mediaType });

/** Undefined where none would be taken either, or nobody makes one. */
async function smallerCopy(
  { longestEdge }: NotShown,
  { scaler }: BlobExpansion,
): Promise<Copy | undefined> {
  const scale = longestEdge === undefined ? undefined : await scaler();
  if (scale === undefined || longestEdge === undefined) return undefined;
  return (content) => scale(content, { longestEdge, characters: SCALED_CHARACTERS });
}

function noteOf(
  reference: string,
  { mediaType, bytes }: KnownBlob,
  name: string | undefined,
  why: string,
): string {
  const called = name === undefined ? "" : ` ${JSON.stringify(name)}`;
  return `[The file${called} (${mediaType}, ${bytes} bytes) is not shown here: ${why}. ${reference}]`;
}
