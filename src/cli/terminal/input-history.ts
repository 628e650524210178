/** The lines typed before, which Up and Down bring back. Keeps the line that was being typed. */

import { emptyDraft, type Draft } from "./draft.ts";

export class InputHistory {
  readonly #lines: string[] = [];
  /** The index of the shown line; after the last one, the line being typed. */
  #index = 0;
  #typed: Draft = emptyDraft;

  /** @param lines - Oldest first. */
  constructor(lines: readonly string[] = []) {
    for (const line of lines) this.add(line);
  }

  /** Adds a sent line, unless it repeats the last one. */
  add(line: string): void {
    if (line.trim() !== "" && line !== this.#lines.at(-1)) this.#lines.push(line);
    this.#index = this.#lines.length;
    this.#typed = emptyDraft;
  }

  /** Adds lines that are older than all others, and keeps the shown one. */
  addOlder(lines: readonly string[]): void {
    const older = lines.filter((line, at) => line.trim() !== "" && line !== lines[at + 1]);
    this.#lines.unshift(...older);
    this.#index += older.length;
  }

  /** The previous or next line as a draft; the same draft at the ends. */
  step(direction: "up" | "down", draft: Draft): Draft {
    const next = this.#index + (direction === "up" ? -1 : 1);
    if (next < 0 || next > this.#lines.length) return draft;
    if (this.#index === this.#lines.length) this.#typed = draft;
    this.#index = next;
    const line = this.#lines[next];
    // The cursor is at the end, as after typing.
    return line === undefined ? this.#typed : { before: line, after: "" };
  }
}
