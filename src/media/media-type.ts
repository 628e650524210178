/**
 * The media type of content by its bytes (file-type has the signatures). The declared type counts only where the
 * bytes do not decide.
 */

import type * as FileType from "file-type";

/** Types that share a container or have several names: the declared type is kept. */
const sameKinds: readonly RegExp[] = [
  /^(audio|video)\/(mp4|x-m4a|m4a|x-m4v|quicktime|3gpp2?)$/,
  /^(audio|video)\/(webm|matroska|x-matroska)$/,
  /^((audio|video)\/(ogg|opus)|audio\/ogg; codecs=opus|application\/ogg)$/,
  /^audio\/(wav|wave|x-wav|vnd\.wave)$/,
  /^audio\/(mpeg|mp3|mpga)$/,
  /^audio\/(flac|x-flac)$/,
  /^audio\/(aac|x-aac)$/,
  /^audio\/(aiff|x-aiff)$/,
  /^image\/(hei[cf])(-sequence)?$/,
];

/** Containers of other formats: the declared format is more exact. */
const containers = /^application\/(zip|xml|x-cfb|gzip|x-tar)$/;

/** Names that providers know. */
const usualNames: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/apng": "image/png",
  "image/x-png": "image/png",
  "application/x-pdf": "application/pdf",
};

/** The type of content that is neither text nor known. */
export const UNKNOWN_TYPE = "application/octet-stream";

/** Whether a type is text, which stays in the log and counts as text. */
export function isTextType(mediaType: string): boolean {
  return /^text\/|^application\/([\w.-]+\+)?(json|xml|yaml)$|^application\/(javascript|typescript|x-yaml|x-ndjson|toml|sql)$|^image\/svg\+xml$/.test(
    mediaType,
  );
}

export async function mediaTypeOf(content: Uint8Array, declared = ""): Promise<string> {
  const name = plainName(declared);
  if (isProse(content, name)) return name;
  const found = await signatureOf(content);
  if (found === undefined) return await withoutSignature(content, name);
  if (sameKinds.some((kind) => kind.test(name) && kind.test(found))) return name;
  if (containers.test(found) && isFull(name) && !(await hasSignature(name))) return name;
  return found;
}

/** Some signatures are words: `BM` begins a bitmap, and a report on BMW. A PDF may consist of text only. */
function isProse(content: Uint8Array, declared: string): boolean {
  if (!isTextType(declared) || !isFull(declared) || !isText(content)) return false;
  return Buffer.from(content.subarray(0, 5)).toString("latin1") !== "%PDF-";
}

/** Such content stays in the event, where it can be searched. */
export async function isTextual(content: Uint8Array, declared: string): Promise<boolean> {
  return isTextType(declared) && isTextType(await mediaTypeOf(content, declared));
}

function plainName(declared: string): string {
  const name = declared.trim().toLowerCase();
  return usualNames[name] ?? name;
}

/** Whether a type names one type and not a range. */
export function isFull(mediaType: string): boolean {
  return /^[^/*\s]+\/[^/*\s]+/.test(mediaType) && mediaType !== UNKNOWN_TYPE;
}

async function withoutSignature(content: Uint8Array, declared: string): Promise<string> {
  if (isFull(declared) && !(await hasSignature(declared))) {
    if (!isTextType(declared) || isText(content)) return declared;
  }
  return isText(content) ? "text/plain" : UNKNOWN_TYPE;
}

function isText(content: Uint8Array): boolean {
  return content.length > 0 && textIn(content) !== undefined;
}

/** Content as text if it is UTF-8 without a zero byte. */
export function textIn(content: Uint8Array): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function signatureOf(content: Uint8Array): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await signatures();
  const found = (await fileTypeFromBuffer(content))?.mime;
  return found === undefined ? undefined : plainName(found);
}

async function hasSignature(mediaType: string): Promise<boolean> {
  const { supportedMimeTypes } = await signatures();
  return [...supportedMimeTypes].some((one) => plainName(one) === mediaType);
}

/** Loads the library at the first file. */
async function signatures(): Promise<typeof FileType> {
  return await import("file-type");
}
