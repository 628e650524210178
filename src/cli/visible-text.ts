/**
 * Text that is safe on a terminal. Models and files can say escape sequences that rewrite the
 * screen or the title; here they become characters that are seen. Line ends and tabs stay. Pure.
 */

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/gu;

/** Works on any piece of a text: a sequence that is cut in two is harmless in both. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(controls, picture);
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\uFFFD";
}
