/** Parses the input of a terminal into keys: typed or pasted text, and named presses. Pure. */

export type Key =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "press"; readonly name: Press };

export type Press =
  | "enter"
  | "tab"
  | "escape"
  | "ctrl-c"
  | "ctrl-d"
  | "ctrl-g"
  | "ctrl-l"
  | "ctrl-z"
  | "backspace"
  | "delete"
  | "up"
  | "down"
  | "left"
  | "right"
  | "word-left"
  | "word-right"
  | "home"
  | "end"
  | "erase-word"
  | "erase-before"
  | "erase-after";

/** The input that does not make a key yet. */
export interface KeyReader {
  readonly pending: string;
  /** The text of an open paste, between the terminal's marks. */
  readonly pasted: string | undefined;
}

export const noKeys: KeyReader = { pending: "", pasted: undefined };

const ESCAPE = "\u001B";
const PASTE_BEGINS = `${ESCAPE}[200~`;
const PASTE_ENDS = `${ESCAPE}[201~`;

const controls: Readonly<Record<string, Press>> = {
  "\r": "enter",
  "\t": "tab",
  "\u0001": "home",
  "\u0002": "left",
  "\u0003": "ctrl-c",
  "\u0004": "ctrl-d",
  "\u0005": "end",
  "\u0006": "right",
  "\u0007": "ctrl-g",
  "\f": "ctrl-l",
  "\u001A": "ctrl-z",
  "\b": "backspace",
  "\u000B": "erase-after",
  "\u000E": "down",
  "\u0010": "up",
  "\u0015": "erase-before",
  "\u0017": "erase-word",
  "\u007F": "backspace",
};

const sequences: Readonly<Record<string, Press>> = {
  "[A": "up",
  "[B": "down",
  OA: "up",
  OB: "down",
  "[C": "right",
  "[D": "left",
  OC: "right",
  OD: "left",
  "[H": "home",
  "[F": "end",
  OH: "home",
  OF: "end",
  "[1~": "home",
  "[7~": "home",
  "[4~": "end",
  "[8~": "end",
  "[3~": "delete",
  "[1;3C": "word-right",
  "[1;5C": "word-right",
  "[1;3D": "word-left",
  "[1;5D": "word-left",
  b: "word-left",
  f: "word-right",
  "\u007F": "erase-word",
  "\b": "erase-word",
};

/** Alt-Enter, and Shift-Enter where a terminal tells it from Enter. */
const lineEnds: ReadonlySet<string> = new Set(["\r", "\n", "[13;2u", "[27;2;13~"]);

// oxlint-disable-next-line no-control-regex
const sequence = /^\u001B(\[[0-?]*[ -/]*[@-~]|O[@-~]|[^\u001B[O])/su;
// oxlint-disable-next-line no-control-regex
const begun = /^\u001B(?:\[[0-?]*[ -/]*|O)?$/;
// oxlint-disable-next-line no-control-regex
const typed = /^[^\u0000-\u001F\u007F]+/;

/** The keys in a piece of input. An incomplete sequence stays in the reader. */
export function readKeys(
  reader: KeyReader,
  input: string,
): { readonly reader: KeyReader; readonly keys: readonly Key[] } {
  const keys: Key[] = [];
  let rest = reader.pending + input;
  let { pasted } = reader;
  while (rest !== "") {
    if (pasted !== undefined) {
      const end = rest.indexOf(PASTE_ENDS);
      if (end === -1) {
        const cut = rest.length - markBegun(rest);
        return {
          reader: { pending: rest.slice(cut), pasted: pasted + rest.slice(0, cut) },
          keys,
        };
      }
      keys.push({ kind: "text", text: pastedText(pasted + rest.slice(0, end)) });
      pasted = undefined;
      rest = rest.slice(end + PASTE_ENDS.length);
    } else if (rest.startsWith(PASTE_BEGINS)) {
      pasted = "";
      rest = rest.slice(PASTE_BEGINS.length);
    } else if (begun.test(rest)) {
      return { reader: { pending: rest, pasted }, keys };
    } else {
      const [key, length] = nextKey(rest);
      if (key !== undefined) keys.push(key);
      rest = rest.slice(length);
    }
  }
  return { reader: { pending: "", pasted }, keys };
}

/** The keys at the end of input: a lone escape is the Escape key. */
export function endKeys(reader: KeyReader): {
  readonly reader: KeyReader;
  readonly keys: readonly Key[];
} {
  if (reader.pasted !== undefined) return { reader, keys: [] };
  const keys: readonly Key[] = reader.pending === ESCAPE ? [{ kind: "press", name: "escape" }] : [];
  return { reader: noKeys, keys };
}

/** The length of the beginning of a paste's end mark at the end of the text. */
function markBegun(text: string): number {
  for (let length = PASTE_ENDS.length - 1; length > 0; length--) {
    if (text.endsWith(PASTE_ENDS.slice(0, length))) return length;
  }
  return 0;
}

/** The first key and its length in the input; undefined for a key without a meaning here. */
function nextKey(rest: string): readonly [Key | undefined, number] {
  const text = typed.exec(rest)?.[0];
  if (text !== undefined) return [{ kind: "text", text }, text.length];
  // Ctrl-J; also a line end of pasted text that the terminal does not mark.
  if (rest.startsWith("\n")) return [{ kind: "text", text: "\n" }, 1];
  if (!rest.startsWith(ESCAPE)) return [pressOf(controls, rest.charAt(0)), 1];
  const [whole, name] = sequence.exec(rest) ?? [];
  if (name !== undefined && lineEnds.has(name))
    return [{ kind: "text", text: "\n" }, whole?.length ?? 1];
  // Escape, followed by another escape.
  if (whole === undefined || name === undefined) return [{ kind: "press", name: "escape" }, 1];
  return [pressOf(sequences, name), whole.length];
}

function pressOf(known: Readonly<Record<string, Press>>, code: string): Key | undefined {
  const name = Object.hasOwn(known, code) ? known[code] : undefined;
  return name === undefined ? undefined : { kind: "press", name };
}

/** Keeps line ends and tabs; removes all other control characters. */
function pastedText(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\r\n?/g, "\n").replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F]/g, "");
}
