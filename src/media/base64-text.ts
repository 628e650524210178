/** Finds binary content in text: base64, `data:` URLs, buffers in JSON. Pure. */

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
