/** Words that are meant for the terminal, and what none of them may show. */

/** OSC 52, which writes the clipboard; another title; hidden text; C1, DEL, bidi, no width, line ends. */
export const HOSTILE: string =
  "\u001B]52;c;ZXZpbA==\u0007\u001B[8mhidden\u001B[2J\u009B31m\u007F\u202Egnp.exe\u2066\u200Bx\u2028y\uFEFF\u{E0041}\r";
/** A name that forges a line. */
export const NAME: string = `evil${HOSTILE}\nerror: forged`;

/** What a terminal obeys, or nobody sees. */
export const obeyed: RegExp =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/u;
