/** Reads the keyboard of a terminal key by key, in raw mode. */

import { createInterface, emitKeypressEvents, type Key as ReadKey } from "node:readline";
import { PassThrough } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { ReadStream } from "node:tty";

/** Typed or pasted text, or a key with a meaning. */
export type Key =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "press"; readonly name: Press };

export interface KeyboardOptions {
  readonly input: Pick<ReadStream, "on" | "off" | "setRawMode" | "resume" | "pause">;
  readonly onKey: (key: Key) => void;
  /** Writes an escape sequence to the terminal. */
  readonly write: (sequence: string) => void;
}

/** By the key's name after its modifiers, as `keyName` writes them. */
const presses = {
  return: "enter",
  tab: "tab",
  "meta-escape": "escape",
  "ctrl-c": "ctrl-c",
  "ctrl-d": "ctrl-d",
  "ctrl-g": "ctrl-g",
  "ctrl-l": "ctrl-l",
  "ctrl-r": "ctrl-r",
  "ctrl-z": "ctrl-z",
  backspace: "backspace",
  delete: "delete",
  up: "up",
  "ctrl-p": "up",
  down: "down",
  "ctrl-n": "down",
  left: "left",
  "ctrl-b": "left",
  right: "right",
  "ctrl-f": "right",
  "ctrl-left": "word-left",
  "meta-left": "word-left",
  "meta-b": "word-left",
  "ctrl-right": "word-right",
  "meta-right": "word-right",
  "meta-f": "word-right",
  home: "home",
  "ctrl-a": "home",
  end: "end",
  "ctrl-e": "end",
  "ctrl-w": "erase-word",
  "meta-backspace": "erase-word",
  "ctrl-u": "erase-before",
  "ctrl-k": "erase-after",
} as const;
export type Press = (typeof presses)[keyof typeof presses];
const pressOf: ReadonlyMap<string, Press> = new Map(Object.entries(presses));

/** Alt-Enter; Ctrl-J, and the line end of pasted text that the terminal does not mark. */
const lineEnds: ReadonlySet<string> = new Set(["meta-return", "meta-enter", "enter"]);
const ALT_ENTER = "\u001B\r";
/** As kitty and xterm send it. */
// oxlint-disable-next-line no-control-regex
const shiftEnter = /\u001B\[(?:13;2u|27;2;13~)/g;

/** Bracketed paste: the terminal marks pasted text, so that a line end in it is not Enter. */
const PASTE_MARKS_ON = "\u001B[?2004h";
const PASTE_MARKS_OFF = "\u001B[?2004l";
const PASTE_ENDS = "\u001B[201~";

/** Every escape sequence begins like the Escape key; the rest of a sequence arrives within this time. */
const ESCAPE_MS = 40;

/** Reads keys until disposed. Restores the terminal also when the process exits. */
export function openKeyboard({ input, onKey, write }: KeyboardOptions): Disposable {
  const decoder = new StringDecoder("utf8");
  const parser = new PassThrough();
  // Node takes the time from an interface; this one reads nothing.
  const timing = createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS });
  emitKeypressEvents(parser, timing);
  /** Text that is handed over as a whole: what came at once, or a paste. */
  let pieces: string[] = [];
  let isPaste = false;
  const handOver = (): void => {
    const text = pieces.join("");
    pieces = [];
    if (text !== "") onKey({ kind: "text", text });
  };
  parser.on("keypress", (_text: string | undefined, key: ReadKey) => {
    const { sequence = "" } = key;
    if (isPaste) {
      pieces.push(sequence);
      // The parser may have read the mark as a part of a sequence that was cut off in the paste.
      if (!sequence.endsWith("~")) return;
      const end = pieces.slice(-PASTE_ENDS.length).join("");
      if (!end.endsWith(PASTE_ENDS)) return;
      pieces = [pastedText(pieces.join("").slice(0, -PASTE_ENDS.length))];
      isPaste = false;
      return handOver();
    }
    const name = keyName(key);
    const press = pressOf.get(name);
    if (lineEnds.has(name)) pieces.push("\n");
    // oxlint-disable-next-line no-control-regex
    else if (press === undefined && !/^[\u0000-\u001F\u007F]/.test(sequence)) pieces.push(sequence);
    else {
      handOver();
      isPaste = name === "paste-start";
      if (press === undefined) return;
      onKey({ kind: "press", name: press });
      // Two Escapes that come together are one key of Node's.
      if (sequence === "\u001B\u001B") onKey({ kind: "press", name: press });
    }
  });
  const take = (data: Buffer): void => {
    parser.emit("data", decoder.write(data).replaceAll(shiftEnter, ALT_ENTER));
    if (!isPaste) handOver();
  };
  // On exit the shell's prompt begins on a new line.
  const restore = (): void => {
    write(`${PASTE_MARKS_OFF}\n`);
  };
  input.setRawMode(true);
  write(PASTE_MARKS_ON);
  process.once("exit", restore);
  input.on("data", take);
  input.resume();
  return {
    [Symbol.dispose]() {
      parser.removeAllListeners("keypress");
      timing.close();
      input.off("data", take);
      input.pause();
      input.setRawMode(false);
      process.off("exit", restore);
      write(PASTE_MARKS_OFF);
    },
  };
}

function keyName({ name = "", ctrl, meta, shift }: ReadKey): string {
  return `${ctrl ? "ctrl-" : ""}${meta ? "meta-" : ""}${shift ? "shift-" : ""}${name}`;
}

/** Keeps line ends and tabs; removes all other control characters. */
function pastedText(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\r\n?/g, "\n").replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F]/g, "");
}
