/** Splits the chunks of a pipe into lines in linear time: the chunks of a line are joined once, at its end. */

export interface LineReader {
  readonly onLine: (line: string) => void;
  /** Called once for a line that is too long, with its first chunk; the rest is dropped. */
  readonly onTooLong: (beginning: string) => void;
  /** Most characters of a line. */
  readonly longest: number;
}

export class Lines {
  readonly #reader: LineReader;
  #pieces: string[] = [];
  #length = 0;
  #isDropped = false;

  constructor(reader: LineReader) {
    this.#reader = reader;
  }

  add(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#take(text.slice(start, end));
      this.#end();
      start = end + 1;
    }
    if (start < text.length) this.#take(text.slice(start));
  }

  #take(piece: string): void {
    if (this.#isDropped) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length <= this.#reader.longest) return;
    const [beginning = ""] = this.#pieces;
    this.#isDropped = true;
    this.#pieces = [];
    this.#reader.onTooLong(beginning);
  }

  #end(): void {
    const line = this.#pieces.join("");
    const isWhole = !this.#isDropped;
    this.#pieces = [];
    this.#length = 0;
    this.#isDropped = false;
    if (isWhole && line.trim() !== "") this.#reader.onLine(line);
  }
}
