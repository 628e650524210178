/** Classifies the data of a file in a message: content, a reference, a URL, or broken. Pure. */

import { resemblesReference, TurnlogError, type StoredUserContent } from "../events/index.ts";

export type FileData =
  /** The id of a file at a provider, which is sent unchanged. */
  | { readonly kind: "named" }
  /** Base64, or a `data:` URL. */
  | {
      readonly kind: "content";
      readonly read: () => FoundContent;
      /** Whether the AI SDK accepts it unchanged. */
      readonly isTaken: boolean;
    }
  | { readonly kind: "reference" }
  | { readonly kind: "address"; readonly url: URL }
  | { readonly kind: "broken"; readonly why: string };

/** Ids of files at OpenAI and Azure. */
const PROVIDERS_FILE = /^(file|assistant)-/;

/** @param isBare - The data may be base64 without a `data:` URL, as in tool results. */
export function fileData(data: string, isBare = false): FileData {
  if (resemblesReference(data)) return { kind: "reference" };
  if (/^data:/i.test(data)) {
    const found = dataUrlContent(data);
    const base64 = /^data:[^,]*;base64,/i.exec(data)?.[0];
    const isRead =
      found !== undefined && (base64 === undefined || isBase64(data.slice(base64.length)));
    if (!isRead) return broken("its `data:` URL cannot be decoded");
    if (found.content.length === 0) return broken("it is empty");
    return { kind: "content", read: () => found, isTaken: !isBare && base64 !== undefined };
  }
  if (/^[a-z][a-z\d+.-]*:/i.test(data)) {
    return URL.canParse(data)
      ? { kind: "address", url: new URL(data) }
      : broken("its address cannot be read");
  }
  if (data.trim() === "") return broken("it is empty");
  if (PROVIDERS_FILE.test(data)) return { kind: "named" };
  if (!isBase64(data)) return broken("its base64 cannot be decoded");
  const read = (): FoundContent => ({
    content: Buffer.from(data, "base64"),
    declared: undefined,
  });
  return { kind: "content", read, isTaken: true };
}

/** A quoted file name with a space before it, or nothing. */
export function called(filename: string | undefined): string {
  return filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
}

function broken(why: string): FileData {
  return { kind: "broken", why };
}

/** Whether `atob`, which provider clients use, decodes the text; also accepts base64url. */
function isBase64(text: string): boolean {
  const letters = /\s/.test(text) ? text.replaceAll(/\s+/g, "") : text;
  const padding = letters.endsWith("==") ? 2 : letters.endsWith("=") ? 1 : 0;
  const length = letters.length - padding;
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(letters)) return false;
  return length % 4 !== 1 && (padding === 0 || letters.length % 4 === 0);
}

/** Files must be decodable. @throws TurnlogError `INVALID_INPUT` that names the part */
export function assertSendable(session: string, message: StoredUserContent): void {
  if (typeof message === "string") return;
  for (const [index, part] of message.entries()) {
    // A file at a provider has no content here.
    if (part.type !== "file" || typeof part.data !== "string") continue;
    const found = fileData(part.data);
    if (found.kind !== "broken") continue;
    throw new TurnlogError(
      "INVALID_INPUT",
      `Part ${index + 1} of a message to session ${session}, the file${called(part.filename)} (${part.mediaType}), cannot be sent: ${found.why}. Nothing was sent. Give its bytes, base64, a \`data:\` URL or an address.`,
      { session, details: { part: index } },
    );
  }
}

// Finds binary content in text: base64, `data:` URLs, buffers in JSON. Pure.

export interface FoundContent {
  readonly content: Uint8Array;
  readonly declared: string | undefined;
}

/** The quantifiers are bounded: a hostile text must not exhaust the stack of the match. */
const DATA_URL = /^data:([^,;]{0,1000})((?:;[^,;]{0,1000}){0,20}),/i;

/** The content of a `data:` URL; undefined for any other text. */
export function dataUrlContent(text: string): FoundContent | undefined {
  const [head, declared = "", parameters = ""] = DATA_URL.exec(text) ?? [];
  if (head === undefined) return undefined;
  const body = text.slice(head.length);
  const content = /;base64$/i.test(parameters) ? base64Content(body) : percentContent(body);
  if (content === undefined) return undefined;
  return { content, declared: declared === "" ? undefined : declared };
}

function percentContent(body: string): Uint8Array | undefined {
  try {
    return Buffer.from(decodeURIComponent(body), "utf8");
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Decodes base64 and base64url, also with line ends; undefined for other text. */
export function base64Content(text: string): Uint8Array | undefined {
  // The spaces at the end are cut first: a pattern that also takes them needs the square of their number.
  if (!/^[A-Za-z0-9+/_\s-]*={0,2}$/.test(text.trimEnd())) return undefined;
  return Buffer.from(text, "base64");
}

/** Encodes content as base64 without copying it first. */
export function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

/** The first 4,096 characters of binary content in base64 use nearly all of its 64 letters. */
const SAMPLE = 4096;
const FEWEST_LETTERS = 40;

/**
 * Only canonical base64 with capitals, small letters, digits and signs: no DNA sequence, hexadecimal number or
 * long word.
 */
export function certainBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  if (![/[A-Z]/, /[a-z]/, /[0-9]/, /[+/]/].every((one) => one.test(text))) return undefined;
  if (new Set(text.slice(0, SAMPLE)).size < FEWEST_LETTERS) return undefined;
  const content = Buffer.from(text, "base64");
  return content.toString("base64") === text ? content : undefined;
}

/** A `data:` URL within other text. */
export const embeddedDataUrl =
  /data:[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;[\w=.-]{1,100}){0,20};base64,[A-Za-z0-9+/]+={0,2}/g;

/** Bytes as `JSON.stringify` writes a `Buffer`. */
export function bufferContent(value: object): Uint8Array | undefined {
  if (!("type" in value) || value.type !== "Buffer" || !("data" in value)) return undefined;
  const { data } = value;
  return Array.isArray(data) &&
    data.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)
    ? Uint8Array.from(data)
    : undefined;
}
