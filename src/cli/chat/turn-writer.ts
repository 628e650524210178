/**
 * Writes a turn: the model's text to stdout (drawn as Markdown on a terminal), all else to stderr, each block
 * and note on separate lines, so that both read well on one terminal. Each method decides what to write before it awaits: concurrent
 * calls keep their order.
 */

import { MarkdownStream } from "../markdown/index.ts";
import {
  replyText,
  type Channel,
  type Output,
  type Style,
  visibleName,
  visibleText,
} from "../output/index.ts";

/** A block of text or reasoning. A model may stream several at a time. */
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
  /** Of the open text. Absent where replies go on as the model wrote them. */
  readonly #markdown: MarkdownStream | undefined;

  constructor(output: Output) {
    this.#output = output;
    const { data } = output;
    if (data.isTerminal)
      this.#markdown = new MarkdownStream({
        columns: () => Math.max(20, data.columns || 80),
        style: (style, text) => data.style(style, text),
      });
  }

  /** Writes a piece of a block. A piece of another block begins a new paragraph. */
  async writeText({ kind, id }: Block, text: string): Promise<void> {
    if (text === "") return;
    const writes: Promise<void>[] = [];
    if (this.#open?.kind !== kind || this.#open.id !== id) {
      writes.push(...this.#endBlock(), ...this.#paragraph(kind));
    }
    this.#open = { kind, id, endsLine: text.endsWith("\n") };
    this.#hasWritten = true;
    if (kind === "text") {
      this.#hasText = true;
      writes.push(this.#reply(text));
    } else {
      writes.push(this.#progress(this.#styled("dim", text)));
    }
    await Promise.all(writes);
  }

  async endBlock(): Promise<void> {
    await Promise.all(this.#endBlock());
  }

  async note(line: string, style: Style = "dim"): Promise<void> {
    const writes = this.#endBlock();
    this.#hasWritten = true;
    // The note may quote several lines: unindented, they would pass for notes of ours.
    const text = line.replaceAll(/\r?\n(?=[^])/g, "\n  ");
    await Promise.all([...writes, this.#progress(`${this.#styled(style, text)}\n`)]);
  }

  /** Shows what the turn waits for, until the next write. Terminals only. */
  async status(text: string): Promise<void> {
    const { progress } = this.#output;
    if (!progress.isTerminal) return;
    const writes = this.#endBlock();
    const line = this.#styled("dim", visibleName(text));
    if (progress.writeAbove !== undefined) writes.push(progress.writeAbove("", [line]));
    else {
      writes.push(this.#progress(line));
      this.#hasStatus = true;
    }
    await Promise.all(writes);
  }

  /** Whether stdout and stderr are the same screen. */
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
    if (open?.kind === "text" && this.#markdown !== undefined)
      writes.push(this.#rows(this.#markdown.end(), []));
    else if (open?.endsLine === false) writes.push(this.#channelOf(open.kind).write("\n"));
    return writes;
  }

  #reply(text: string): Promise<void> {
    const { data } = this.#output;
    if (this.#markdown === undefined) return data.write(replyText(data, text));
    const { final, open } = this.#markdown.add(visibleText(text));
    return this.#rows(final, open);
  }

  #rows(final: readonly string[], open: readonly string[]): Promise<void> {
    const { data } = this.#output;
    const text = final.map((row) => `${row}\n`).join("");
    if (data.writeAbove !== undefined) return data.writeAbove(text, open);
    return text === "" ? Promise.resolve() : data.write(text);
  }

  /** An empty line between two texts; on one screen, before a text that follows anything. */
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
