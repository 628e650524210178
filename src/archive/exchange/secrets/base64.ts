/** Decodes base64 in texts: files, `Basic` credentials and Kubernetes secrets may contain secrets. Pure. */

export interface Encoded {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** All base64-encoded texts in a text, with their ranges. */
export function encodedTexts(text: string): readonly Encoded[] {
  return [...text.matchAll(/(?<![\w+/-])[\w+/-]{16,}={0,2}/g)].flatMap(({ index, 0: word }) => {
    const decoded = textOfBase64(word);
    return decoded === undefined ? [] : [{ from: index, to: index + word.length, text: decoded }];
  });
}

/** Decodes base64 to text; undefined for binary data and for other words. */
export function textOfBase64(word: string): string | undefined {
  if (word.length < 12 || !/^[\w+/-]+={0,2}$/.test(word)) return undefined;
  const text = Buffer.from(word, "base64").toString("utf8");
  // oxlint-disable-next-line no-control-regex
  return text.length < 8 || /[\u0000-\u0008\u000E-\u001F\u007F-\u009F\uFFFD]/.test(text)
    ? undefined
    : text;
}
