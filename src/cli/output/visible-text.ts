/**
 * Makes text safe to show: escape sequences of models, tools and files can rewrite the screen, the title or the
 * clipboard, and other characters are invisible or reverse the text order. Pure.
 */

/**
 * Control characters except tabs and line ends, direction marks, zero-width and tag characters, and
 * Unicode line ends. Joiners stay between letters and emoji that need them.
 */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]|(?<=[\u0000-\u007F])[\u200C\u200D]|[\u200C\u200D](?=[\u0000-\u007F])/gu;

/** Keeps line ends and tabs. Works on any piece of a text: each half of a cut sequence is harmless. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(unsafe, picture);
}

/** A name on one line: a line end in it could forge the next line. */
export function visibleName(name: string): string {
  return visibleText(name).replaceAll(/[\t\n]/g, picture);
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\uFFFD";
}

export function jsonText(value: unknown): string {
  return safeJson(JSON.stringify(value));
}

/** The same JSON value with unsafe characters escaped. */
export function safeJson(json: string): string {
  return json.replaceAll(unsafe, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
