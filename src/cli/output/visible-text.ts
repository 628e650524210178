/**
 * Text that is safe to show. Models, tools and files can say escape sequences that rewrite the screen,
 * the title or the clipboard, and characters that nobody sees or that turn the order of others around;
 * here they become characters that are seen. Pure.
 */

/**
 * Control characters but tabs and line ends; marks of direction, of no width and of no letter; line
 * ends that only some programs know. Joiners stay between letters and pictures that need them.
 */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]|(?<=[\u0000-\u007F])[\u200C\u200D]|[\u200C\u200D](?=[\u0000-\u007F])/gu;

/** Line ends and tabs stay. Works on any piece of a text: a sequence that is cut in two is harmless in both. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(unsafe, picture);
}

/** A name, which is in one line: one with a line end could forge the next line. */
export function visibleName(name: string): string {
  return visibleText(name).replaceAll(/[\t\n]/g, picture);
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\uFFFD";
}

/** JSON on one line that is as safe to show: what JSON would leave as it is, is escaped too. */
export function jsonText(value: unknown): string {
  return safeJson(JSON.stringify(value));
}

/** The same value in JSON that is safe to show. */
export function safeJson(json: string): string {
  return json.replaceAll(unsafe, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
