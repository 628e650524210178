/** Reads the keyboard of a terminal key by key, in raw mode. */

import { StringDecoder } from "node:string_decoder";
import type { ReadStream } from "node:tty";
import { endKeys, noKeys, readKeys, type Key } from "./key.ts";

export interface KeyboardOptions {
  readonly input: Pick<ReadStream, "on" | "off" | "setRawMode" | "resume" | "pause">;
  readonly onKey: (key: Key) => void;
  /** Writes an escape sequence to the terminal. */
  readonly write: (sequence: string) => void;
}

/** Bracketed paste: the terminal marks pasted text, so that a line end in it is not Enter. */
const PASTE_MARKS_ON = "\u001B[?2004h";
const PASTE_MARKS_OFF = "\u001B[?2004l";

/** Every escape sequence begins like the Escape key; the rest of a sequence arrives within this time. */
const ESCAPE_MS = 40;

/** Reads keys until disposed. Restores the terminal also when the process exits. */
export function openKeyboard({ input, onKey, write }: KeyboardOptions): Disposable {
  const decoder = new StringDecoder("utf8");
  let reader = noKeys;
  let waiting: NodeJS.Timeout | undefined;
  const emit = (read: ReturnType<typeof endKeys>): void => {
    reader = read.reader;
    for (const key of read.keys) onKey(key);
  };
  const take = (data: Buffer | string): void => {
    clearTimeout(waiting);
    emit(readKeys(reader, typeof data === "string" ? data : decoder.write(data)));
    if (reader.pending === "") return;
    waiting = setTimeout(() => {
      emit(endKeys(reader));
    }, ESCAPE_MS);
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
      clearTimeout(waiting);
      input.off("data", take);
      input.pause();
      input.setRawMode(false);
      process.off("exit", restore);
      write(PASTE_MARKS_OFF);
    },
  };
}
