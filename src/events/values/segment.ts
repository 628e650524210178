/** A session id as one segment of a key, a file name or another id, and as a word of a shell. Pure; pages use it too. */

/**
 * The text with `=002f` for `/`, and so on for all characters but letters, digits and `. _ : @ -`. Different
 * texts stay different, and the beginning of a text becomes the beginning of its segment.
 */
export function segmentOf(text: string): string {
  return text.replaceAll(
    /[^\w.:@-]/g,
    (unit) => `=${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The text of a segment. */
export function fromSegment(segment: string): string {
  return segment.replaceAll(/=([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** A session id as one word of a shell's command. */
export function shellWord(session: string): string {
  return /[~!$&'()*;]/.test(session) ? `'${session.replaceAll("'", `'\\''`)}'` : session;
}
