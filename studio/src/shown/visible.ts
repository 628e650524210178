/** Characters that reorder the text around them, as their escapes: a call could show another input than it has. Pure. */

const overrides = /[\u202A-\u202E\u2066-\u2069]/gu;

export function visible(text: string): string {
  return text.replaceAll(
    overrides,
    (sign) => String.raw`\u${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
