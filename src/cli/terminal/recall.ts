/** What was typed before, to be brought back into the line by Up and Down. The line that was being typed is not lost. */

import { emptyDraft, type Draft } from "./draft.ts";

export class Recall {
  readonly #lines: string[] = [];
  /** Which line stands in the draft; behind the last one it is what is being typed. */
  #at = 0;
  #typed: Draft = emptyDraft;

  /** @param lines - The oldest first. */
  constructor(lines: readonly string[] = []) {
    for (const line of lines) this.add(line);
  }

  /** A line that was sent. One that is like the last is no other one. */
  add(line: string): void {
    if (line.trim() !== "" && line !== this.#lines.at(-1)) this.#lines.push(line);
    this.#at = this.#lines.length;
    this.#typed = emptyDraft;
  }

  /** The draft for the line before, or after, the one that stands there; the same one where there is none. */
  step(way: "up" | "down", draft: Draft): Draft {
    const next = this.#at + (way === "up" ? -1 : 1);
    if (next < 0 || next > this.#lines.length) return draft;
    if (this.#at === this.#lines.length) this.#typed = draft;
    this.#at = next;
    const line = this.#lines[next];
    // The cursor stands behind it, as if it had just been typed.
    return line === undefined ? this.#typed : { before: line, after: "" };
  }
}
