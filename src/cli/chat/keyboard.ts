/**
 * Holds the keyboard while nobody is asked: what is typed ahead does not spoil the screen and is
 * there when the next question is, and Ctrl-C acts at once. Only for a terminal.
 */

import type { ReadStream } from "node:tty";

export interface Keyboard {
  /** From now on keys are kept. */
  hold(): void;
  /** Gives the keyboard to whoever asks next, with what has been typed since it was held. */
  release(): string;
}

export function keyboard(input: ReadStream, onCtrlC: () => void): Keyboard {
  let typed = "";
  const take = (data: Buffer | string): void => {
    for (const key of String(data)) {
      // Arrows and their like: the rest of the piece belongs to them.
      if (key === "\u001B") return;
      if (key === "\u0003") onCtrlC();
      else if (key === "\u007F" || key === "\b") typed = typed.slice(0, -1);
      else if (key >= " ") typed += key;
    }
  };
  return {
    hold() {
      typed = "";
      input.setRawMode(true);
      input.on("data", take);
      input.resume();
    },
    release() {
      input.off("data", take);
      input.pause();
      input.setRawMode(false);
      return typed;
    },
  };
}
