/** SHA-256 over many short texts. Text is hashed in pieces: an update for each costs more than hashing it. */

import { createHash } from "node:crypto";

const PIECE = 16 * 1024;

export class TextHash {
  #hash = createHash("sha256");
  #text = "";

  take(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE) this.#update();
  }

  /** The digest of all texts so far and of one more, which is not taken. */
  digest(last = ""): string {
    this.#update();
    return this.#hash.copy().update(last).digest("hex");
  }

  #update(): void {
    if (this.#text !== "") this.#hash.update(this.#text);
    this.#text = "";
  }
}
