/** How an event refers to a blob: `@blob:<sha256>` in the place of the bytes. Without zod, since pages use it. */

const PREFIX = "@blob:";
const DIGEST = /^[0-9a-f]{64}$/;

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

export function blobReference(sha256: string): string {
  return `${PREFIX}${sha256}`;
}

/** The digest in a reference; undefined for any other text. */
export function referredBlob(text: string): string | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const digest = text.slice(PREFIX.length);
  return isDigest(digest) ? digest : undefined;
}

export function resemblesReference(text: string): boolean {
  return text.startsWith(PREFIX);
}
