/** Converts the input of `send` to stored user content. */

import type { UserContent } from "ai";
import { z } from "zod";
import {
  convertUint8ArrayToBase64,
  isProviderReference,
  detectMediaType,
} from "@ai-sdk/provider-utils";
import {
  jsonObjectSchema,
  ownCopy,
  TurnlogError,
  userContentSchema,
  type StoredUserContent,
  type StoredUserPart,
} from "../events/index.ts";
import { type AttachmentOptions, guardedDownload, MOST_BYTES } from "./guarded-download.ts";
import { check, optionsOf, text, thing } from "../validation/index.ts";
import { unreadable, toJson } from "../shared/index.ts";
import { constants, open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { textIn } from "./media-type.ts";

/** Input as stored content, or with files that are still to be read. */
export type HeldInput = StoredUserContent | MessageWithFiles;

/**
 * Text, or the AI SDK's user content parts (text and files), or text with files to read when it is sent.
 * @example
 * await session.send({ text: "What is wrong here?", files: ["shot.png"] });
 */
export type UserInput = DirectInput | MessageWithFiles;

type DirectInput = string | UserContent | StoredUserContent;

/** A message with files that are read when it is sent. */
interface MessageWithFiles {
  readonly text?: string;
  /**
   * Paths, and `file:`, `http:` and `https:` URLs, read once before the message is accepted. The bytes
   * decide the type. Text becomes text with its name; everything else a file.
   */
  readonly files: readonly FileSource[];
}

function storedPart(part: Exclude<DirectInput, string>[number]): unknown {
  if (part.type === "text") return part;
  if (part.type === "image") {
    return {
      ...part,
      type: "file",
      data: storedData(part.image),
      mediaType: part.mediaType ?? "image/*",
      image: undefined,
    };
  }
  // Only the session adds measures of a blob.
  return { ...part, data: storedData(part.data), blob: undefined };
}

/** Bytes as base64, URLs as text, references to files at a provider as they are; with or without the SDK's tag. */
function storedData(data: unknown): unknown {
  if (typeof data === "object" && data !== null && "type" in data) {
    if (data.type === "data" && "data" in data) return storedData(data.data);
    if (data.type === "url" && "url" in data) return storedData(data.url);
    if (data.type === "text" && "text" in data) return storedText(data.text);
  }
  if (data instanceof URL) return data.href;
  if (data instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(data));
  if (data instanceof Uint8Array) return convertUint8ArrayToBase64(data);
  return isProviderReference(data) ? { type: "reference", reference: data } : data;
}

function storedText(text: unknown): unknown {
  return typeof text === "string" ? Buffer.from(text).toString("base64") : text;
}

/** Whether content is more than white space: providers refuse an empty message. */
export function saysSomething(
  content: string | readonly { readonly type: string; readonly text?: string }[],
): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some((part) => part.type !== "text" || part.text?.trim() !== "");
}

/** The caller may change its lists and buffers at once. @throws TurnlogError `INVALID_INPUT` */
export function heldInput(session: string, input: UserInput): HeldInput {
  const isWithFiles = (given: UserInput): given is MessageWithFiles =>
    readInput(session, () => hasFiles(given));
  if (!isWithFiles(input)) return toStoredContent(session, input);
  return readInput(session, () => ownCopy(input));
}

/** How files are read. */
export interface Attaching extends AttachmentOptions {
  /** Undefined for a source that names no resource of a server. */
  readonly resource?: (source: string) => Promise<ReadFile> | undefined;
}

/** @throws TurnlogError `INVALID_INPUT` as {@link attach} */
export async function receiveInput(
  session: string,
  input: HeldInput,
  attachments: Attaching,
): Promise<StoredUserContent> {
  if (!hasFiles(input)) return input;
  check(filesSchema, input, "send", { name: "message", session });
  const { text: words = "", files } = input;
  const attached = await attach(session, files, attachments);
  if (attached.length === 0) return toStoredContent(session, words);
  // Files come before the text about them, as providers advise.
  return words.trim() === "" ? attached : [...attached, { type: "text", text: words }];
}

/** Also called with values from untyped JavaScript. */
function hasFiles(input: UserInput): input is MessageWithFiles {
  const given: unknown = input;
  return typeof given === "object" && given !== null && "files" in given;
}

export function isMessageWithFiles(input: HeldInput): input is MessageWithFiles {
  return hasFiles(input) && filesSchema.safeParse(input).success;
}

const filesSchema = optionsOf<MessageWithFiles>(
  { text },
  {
    files: thing(
      "a list of paths and addresses",
      (files) =>
        Array.isArray(files) &&
        files.every((file: unknown) => typeof file === "string" || file instanceof URL),
    ),
  },
);

function isParts(input: DirectInput): input is Exclude<DirectInput, string> {
  const given: unknown = input;
  return Array.isArray(given) && given.every((part) => typeof part === "object" && part !== null);
}

/** The most characters of a media type or a file's name: a prompt and its estimate have them whole. */
const LONGEST_LABEL = 1_024;

function hasShortLabels(part: Exclude<StoredUserContent, string>[number]): boolean {
  const mediaType = "mediaType" in part ? part.mediaType : "";
  return mediaType.length <= LONGEST_LABEL && (part.filename ?? "").length <= LONGEST_LABEL;
}

/** Provider options must be objects: otherwise this prompt and every later one would be refused. */
const sentSchema: z.ZodType<StoredUserContent> = userContentSchema
  .refine(
    (content) => typeof content === "string" || content.every(hasShortLabels),
    `a media type and a file name have at most ${LONGEST_LABEL} characters`,
  )
  .refine(
    (content) =>
      typeof content === "string" ||
      content.every(({ providerOptions = {} }) =>
        Object.values(providerOptions).every((own) => jsonObjectSchema.safeParse(own).success),
      ),
    "providerOptions are objects, by the provider's name",
  );

/** @throws TurnlogError `INVALID_INPUT` when it is empty or not user content. */
export function toStoredContent(session: string, input: DirectInput): StoredUserContent {
  const stored = readInput(session, () =>
    sentSchema.safeParse(isParts(input) ? toJson(input.map(storedPart)) : input),
  );
  if (stored.success && saysSomething(stored.data)) return stored.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    stored.success
      ? `A message to session ${session} must not be empty.`
      : `A message to session ${session} must be text, the AI SDK's text and file parts, or text with \`files\`: ${z.prettifyError(stored.error)}`,
    { session, cause: stored.error },
  );
}

/** @throws TurnlogError `INVALID_INPUT`, even if reading the message throws or it is nested too deeply */
function readInput<Read>(session: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw unreadable(`A message to session ${session}`, error, session);
  }
}

// Reads the files of a message as parts of user content, once, when the message is accepted: the log holds what
// the model saw even if a URL changes.

export interface ReadFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly mediaType?: string | undefined;
}

/** A path, or a `file:`, `http:` or `https:` URL. */
type FileSource = string | URL;

/**
 * In order.
 * @throws TurnlogError `INVALID_INPUT` for a file that cannot be read, is empty, too large, or of an
 * unknown type
 */
async function attach(
  session: string,
  sources: readonly FileSource[],
  options: Attaching,
): Promise<readonly StoredUserPart[]> {
  return await Promise.all(
    sources.map(async (source) => {
      const refuse = (why: string, cause?: unknown): TurnlogError =>
        new TurnlogError(
          "INVALID_INPUT",
          `The file ${source.toString()} could not be attached to a message to session ${session}: ${why}. Nothing was sent.`,
          { session, cause },
        );
      const file = await (options.resource?.(source.toString()) ?? read(source, options, refuse));
      if (file.bytes.length === 0) throw refuse("it is empty");
      return partOf(file) ?? fail(refuse("it is neither text nor of a known kind"));
    }),
  );
}

export function attachedName(source: FileSource): string {
  const url = urlOf(source);
  if (url === undefined) return basename(source.toString());
  if (url.protocol === "file:") return basename(fileURLToPath(url));
  return basename(url.pathname) || url.hostname;
}

type Refuse = (why: string, cause?: unknown) => TurnlogError;

function fail(error: TurnlogError): never {
  throw error;
}

async function read(
  source: FileSource,
  options: AttachmentOptions,
  refuse: Refuse,
): Promise<ReadFile> {
  const url = urlOf(source);
  if (url === undefined) return await readPath(source.toString(), options, refuse);
  switch (url.protocol) {
    case "file:":
      return await readPath(fileURLToPath(url), options, refuse);
    case "http:":
    case "https:":
      return await download(url, options, refuse);
    default:
      throw refuse("only paths and file:, http: and https: addresses can be read");
  }
}

/** Only `http:`, `https:` and `file:` texts are URLs: a path may contain a colon. */
function urlOf(source: FileSource): URL | undefined {
  if (source instanceof URL) return source;
  return /^(https?|file):\/\//i.test(source) && URL.canParse(source) ? new URL(source) : undefined;
}

async function readPath(
  path: string,
  { maxBytes = MOST_BYTES }: AttachmentOptions,
  refuse: Refuse,
): Promise<ReadFile> {
  try {
    // Before opening: opening a device or a pipe may have effects.
    if (!(await stat(path)).isFile()) throw refuse("it is not a file");
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = await file.stat();
    if (!found.isFile()) throw refuse("it is not a file");
    if (found.size > maxBytes)
      throw refuse(`it has ${found.size} bytes, and ${maxBytes} are allowed`);
    // A file may grow during the read, and files in /proc have no size.
    const stream: AsyncIterable<Buffer> = file.createReadStream({ end: Math.floor(maxBytes) });
    const bytes = Buffer.concat(await Array.fromAsync(stream));
    if (bytes.length > maxBytes)
      throw refuse(`it has more than the ${maxBytes} bytes that are allowed`);
    return { name: attachedName(path), bytes };
  } catch (error) {
    if (TurnlogError.isInstance(error)) throw error;
    throw refuse(error instanceof Error ? error.message : String(error), error);
  }
}

async function download(url: URL, options: AttachmentOptions, refuse: Refuse): Promise<ReadFile> {
  const found = await guardedDownload(url, options);
  if (found.kind === "content") {
    const { content: bytes, mediaType } = found;
    return { name: attachedName(url), bytes, mediaType };
  }
  const { error } = found;
  throw refuse(error instanceof Error ? error.message : String(error), error);
}

/** The bytes decide the type, not the name: an image named `notes.txt` is an image. */
function partOf({ name, bytes, mediaType: declared }: ReadFile): StoredUserPart | undefined {
  const mediaType = detectMediaType({ data: bytes });
  if (mediaType !== undefined) return filePart(name, bytes, mediaType);
  const text = textIn(bytes);
  if (text !== undefined) {
    return textFile(name, text);
  }
  const isDeclared = declared !== undefined && declared !== "application/octet-stream";
  return isDeclared ? filePart(name, bytes, declared) : undefined;
}

/** The content of a text file as a part of a message: all models accept text, few accept text files. */
export function textFile(filename: string, content: string) {
  const text = `<file name=${JSON.stringify(filename)}>\n${content}\n</file>`;
  return { type: "text", text, filename } as const;
}

function filePart(filename: string, bytes: Uint8Array, mediaType: string): StoredUserPart {
  return { type: "file", data: convertUint8ArrayToBase64(bytes), mediaType, filename };
}

// A message for the process that runs its session: its files are read here, where the person names them.

/** A part of a message to send. */
export type MessagePart =
  /** The name is that of a file whose text it is. */
  | { readonly type: "text"; readonly text: string; readonly filename?: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      /** A `data:` or `http(s):` URL, or `/api/sessions/<id>/blobs/<digest>` for a file that a session has. */
      readonly url: string;
      readonly filename?: string;
    };

/** @throws TurnlogError `INVALID_INPUT` */
export async function messageParts(
  session: string,
  input: UserInput,
): Promise<string | readonly MessagePart[]> {
  const content = await receiveInput(session, heldInput(session, input), {});
  if (typeof content === "string") return content;
  return content.map((part): MessagePart => {
    const { filename } = part;
    const named = filename === undefined ? {} : { filename };
    if (part.type === "text") return { type: "text", text: part.text, ...named };
    const { mediaType, data } = part;
    if (typeof data !== "string") throw noFile(session);
    const url = /^https?:/.test(data) ? data : `data:${mediaType};base64,${data}`;
    return { type: "file", mediaType, url, ...named };
  });
}

function noFile(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    "A file that is uploaded to a provider cannot be sent to the process that has the store open.",
    { session },
  );
}
