/** The keyboard of a terminal, key by key, from when it is held until it is let go. */

import { StringDecoder } from "node:string_decoder";
import type { ReadStream } from "node:tty";
import { endKeys, noKeys, readKeys, type Key } from "./key.ts";

export interface KeyboardOptions {
  readonly input: Pick<ReadStream, "on" | "off" | "setRawMode" | "resume" | "pause">;
  readonly onKey: (key: Key) => void;
  /** Tells the terminal something, at once. */
  readonly tell: (sequence: string) => void;
}

/** Pasted text is marked as such: a line end in it is no Enter. */
const MARK_PASTES = "\u001B[?2004h";
const MARK_NO_PASTES = "\u001B[?2004l";

/** The Escape key sends what every other sequence begins with; the rest of one is there sooner. */
const ESCAPE_MS = 40;

/** Holds the keyboard until it is disposed of. Leaves a terminal as it was also when the process exits. */
export function holdKeyboard({ input, onKey, tell }: KeyboardOptions): Disposable {
  const decoder = new StringDecoder("utf8");
  let reader = noKeys;
  let waiting: NodeJS.Timeout | undefined;
  const hand = (read: ReturnType<typeof endKeys>): void => {
    reader = read.reader;
    for (const key of read.keys) onKey(key);
  };
  const take = (data: Buffer | string): void => {
    clearTimeout(waiting);
    hand(readKeys(reader, typeof data === "string" ? data : decoder.write(data)));
    if (reader.pending === "") return;
    waiting = setTimeout(() => {
      hand(endKeys(reader));
    }, ESCAPE_MS);
  };
  // The process ends in the middle of it: the shell begins below.
  const restore = (): void => {
    tell(`${MARK_NO_PASTES}\n`);
  };
  input.setRawMode(true);
  tell(MARK_PASTES);
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
      tell(MARK_NO_PASTES);
    },
  };
}
