/**
 * What content is, by its bytes: what it is said to be is believed only where bytes cannot tell. The
 * signatures are the library's; here is only when they are asked and what they overrule.
 */

import type * as FileType from "file-type";

/** Kinds in one container, or with several names: what was said is as good as what was found. */
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

/** What other formats are made of: the name of the format says more. */
const containers = /^application\/(zip|xml|x-cfb|gzip|x-tar)$/;

/** The name that providers know. */
const usualNames: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/apng": "image/png",
  "image/x-png": "image/png",
  "application/x-pdf": "application/pdf",
};

/** What is neither text nor known. */
export const UNKNOWN_TYPE = "application/octet-stream";

/** Whether content of a type is text, which is kept in the log and counted as such. */
export function isTextType(mediaType: string): boolean {
  return /^text\/|^application\/([\w.-]+\+)?(json|xml|yaml)$|^application\/(javascript|typescript|x-yaml|x-ndjson|toml|sql)$|^image\/svg\+xml$/.test(
    mediaType,
  );
}

/** The type of content that is said to be of one, or of none. */
export async function mediaTypeOf(content: Uint8Array, declared = ""): Promise<string> {
  const said = plainName(declared);
  if (isProse(content, said)) return said;
  const found = await signatureOf(content);
  if (found === undefined) return await withoutSignature(content, said);
  if (sameKinds.some((kind) => kind.test(said) && kind.test(found))) return said;
  if (containers.test(found) && isFull(said) && !(await hasSignature(said))) return said;
  return found;
}

/**
 * Text that is said to be text. Some signatures are words: `BM` begins a bitmap, and a report on BMW.
 * A document may be text throughout and is none.
 */
function isProse(content: Uint8Array, said: string): boolean {
  if (!isTextType(said) || !isFull(said) || !isText(content)) return false;
  return Buffer.from(content.subarray(0, 5)).toString("latin1") !== "%PDF-";
}

/** Whether content is the text that it is said to be; then it stays where it can be read and searched. */
export async function isTextual(content: Uint8Array, declared: string): Promise<boolean> {
  return isTextType(declared) && isTextType(await mediaTypeOf(content, declared));
}

function plainName(declared: string): string {
  const name = declared.trim().toLowerCase();
  return usualNames[name] ?? name;
}

/** Whether it names one type, and not a range of them. */
export function isFull(mediaType: string): boolean {
  return /^[^/*\s]+\/[^/*\s]+/.test(mediaType) && mediaType !== UNKNOWN_TYPE;
}

async function withoutSignature(content: Uint8Array, said: string): Promise<string> {
  if (isFull(said) && !(await hasSignature(said))) {
    if (!isTextType(said) || isText(content)) return said;
  }
  return isText(content) ? "text/plain" : UNKNOWN_TYPE;
}

function isText(content: Uint8Array): boolean {
  return content.length > 0 && textIn(content) !== undefined;
}

/** The text of content that is UTF-8 throughout and has no zero in it. */
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

/** Whether content of a type begins with what tells it apart: without that, it is not of the type. */
async function hasSignature(mediaType: string): Promise<boolean> {
  const { supportedMimeTypes } = await signatures();
  return [...supportedMimeTypes].some((one) => plainName(one) === mediaType);
}

/** Loaded when the first file comes. */
async function signatures(): Promise<typeof FileType> {
  return await import("file-type");
}
