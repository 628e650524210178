/**
 * Reads the files of a message as parts of user content, once, when the message is accepted: the log holds what
 * the model saw even if a URL changes.
 */

import { constants, open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { convertUint8ArrayToBase64, detectMediaType } from "@ai-sdk/provider-utils";
import { TurnlogError, type StoredUserPart } from "../events/index.ts";
import { textIn } from "./media-type.ts";
import { guardedDownload, MOST_BYTES, type AttachmentOptions } from "./guarded-download.ts";

interface ReadFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly mediaType?: string | undefined;
}

/** A path, or a `file:`, `http:` or `https:` URL. */
export type FileSource = string | URL;

/**
 * In order.
 * @throws TurnlogError `INVALID_INPUT` for a file that cannot be read, is empty, too large, or of an
 * unknown type
 */
export async function attach(
  session: string,
  sources: readonly FileSource[],
  options: AttachmentOptions,
): Promise<readonly StoredUserPart[]> {
  return await Promise.all(
    sources.map(async (source) => {
      const refuse = (why: string, cause?: unknown): TurnlogError =>
        new TurnlogError(
          "INVALID_INPUT",
          `The file ${source.toString()} could not be attached to a message to session ${session}: ${why}. Nothing was sent.`,
          { session, cause },
        );
      const file = await read(source, options, refuse);
      if (file.bytes.length === 0) throw refuse("it is empty");
      return partOf(file) ?? fail(refuse("it is neither text nor of a kind that is known"));
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
    if (!(await stat(path)).isFile()) throw refuse("it is no file");
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = await file.stat();
    if (!found.isFile()) throw refuse("it is no file");
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
    // All models accept text, few accept text files.
    return {
      type: "text",
      text: `<file name=${JSON.stringify(name)}>\n${text}\n</file>`,
      filename: name,
    };
  }
  const isDeclared = declared !== undefined && declared !== "application/octet-stream";
  return isDeclared ? filePart(name, bytes, declared) : undefined;
}

function filePart(filename: string, bytes: Uint8Array, mediaType: string): StoredUserPart {
  return { type: "file", data: convertUint8ArrayToBase64(bytes), mediaType, filename };
}
