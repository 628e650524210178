/**
 * Writes a turn on the two streams so that they read well together on one terminal: the model's
 * text to stdout, all else to stderr, every block and every note on lines of its own. Knows nothing
 * of events. What a call writes is decided before it waits, so calls come out in their order.
 */

import {
  spoken,
  type Channel,
  type Output,
  type Style,
  visibleName,
  visibleText,
} from "../output/index.ts";

/** What the model says is in blocks; several can be open side by side. */
export interface Block {
  readonly kind: "text" | "reasoning";
  readonly id: string;
}

interface OpenBlock extends Block {
  readonly endsLine: boolean;
}

const ERASE_LINE = "\r\u001B[2K";

export class TurnWriter {
  readonly #output: Output;
  #open: OpenBlock | undefined;
  #hasWritten = false;
  #hasText = false;
  #hasStatus = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** A piece of a block. A piece of another one begins a new paragraph. */
  async say({ kind, id }: Block, text: string): Promise<void> {
    if (text === "") return;
    const writes: Promise<void>[] = [];
    if (this.#open?.kind !== kind || this.#open.id !== id) {
      writes.push(...this.#endBlock(), ...this.#paragraph(kind));
    }
    this.#open = { kind, id, endsLine: text.endsWith("\n") };
    this.#hasWritten = true;
    if (kind === "text") {
      this.#hasText = true;
      writes.push(this.#output.data.write(spoken(this.#output.data, text)));
    } else {
      writes.push(this.#progress(this.#styled("dim", text)));
    }
    await Promise.all(writes);
  }

  /** Brings the cursor to the start of a line. */
  async endBlock(): Promise<void> {
    await Promise.all(this.#endBlock());
  }

  /** A line beside what the model says. */
  async note(line: string, style: Style = "dim"): Promise<void> {
    const writes = this.#endBlock();
    this.#hasWritten = true;
    // What it repeats may have lines, which would pass for ours at the beginning of one.
    const text = line.replaceAll(/\r?\n(?=[^])/g, "\n  ");
    await Promise.all([...writes, this.#progress(`${this.#styled(style, text)}\n`)]);
  }

  /** A word on what is being waited for; gone with the next thing that is written. Terminals only. */
  async status(text: string): Promise<void> {
    if (!this.#output.progress.isTerminal) return;
    const writes = [...this.#endBlock(), this.#progress(this.#styled("dim", visibleName(text)))];
    this.#hasStatus = true;
    await Promise.all(writes);
  }

  /** Stdout and stderr are one screen. */
  get #isOneScreen(): boolean {
    return this.#output.data.isTerminal && this.#output.progress.isTerminal;
  }

  #styled(style: Style, text: string): string {
    return this.#output.progress.style(style, visibleText(text));
  }

  #channelOf(kind: Block["kind"]): Channel {
    return kind === "text" ? this.#output.data : this.#output.progress;
  }

  #endBlock(): Promise<void>[] {
    const writes = this.#eraseStatus();
    const open = this.#open;
    this.#open = undefined;
    if (open?.endsLine === false) writes.push(this.#channelOf(open.kind).write("\n"));
    return writes;
  }

  /** An empty line before a text: between two texts, and on a screen before any but the first. */
  #paragraph(kind: Block["kind"]): Promise<void>[] {
    if (kind !== "text") return [];
    if (this.#isOneScreen) return this.#hasWritten ? [this.#progress("\n")] : [];
    return this.#hasText ? [this.#output.data.write("\n")] : [];
  }

  #eraseStatus(): Promise<void>[] {
    if (!this.#hasStatus) return [];
    this.#hasStatus = false;
    return [this.#progress(ERASE_LINE)];
  }

  #progress(text: string): Promise<void> {
    return this.#output.progress.write(text);
  }
}
