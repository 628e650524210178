/** Writes a turn as text, from its events and nothing else. */

import type { SessionEvent } from "../../../events/index.ts";
import { EventLines, type EventLinesOptions } from "../../wording/event-lines.ts";
import {
  type Output,
  type Style,
  replyText,
  type Channel,
  writeLine,
} from "../../output/output.ts";
import { MarkdownStream } from "../../markdown/markdown-stream.ts";
import { wrappedLines } from "../../terminal/cells.ts";
import { visibleName, visibleText, jsonText } from "../../output/visible-text.ts";
import type { Answer } from "../line/chat-line.ts";
import { redrawn } from "./live-output.ts";
import type { OpenCall } from "./conversation-state.ts";

export interface TurnScreenOptions extends Omit<EventLinesOptions, "columns"> {
  /** Whether to show what the turn waits for, in place of the next line. Default: true. */
  readonly showsActivity?: boolean;
}

export class TurnScreen {
  readonly #writer: TurnWriter;
  readonly #lines: EventLines;
  readonly #showsActivity: boolean;

  constructor(output: Output, { showsActivity = true, ...options }: TurnScreenOptions = {}) {
    this.#writer = new TurnWriter(output);
    this.#showsActivity = showsActivity;
    this.#lines = new EventLines({ ...options, columns: () => output.progress.columns });
  }

  describeQuestion(callId: string): string {
    return this.#lines.describeQuestion(callId);
  }

  /** Moves the cursor to the start of a line, so that other text can follow. */
  async endLine(): Promise<void> {
    await this.#writer.endBlock();
  }

  async note(line: string, style: Style = "dim"): Promise<void> {
    await this.#writer.note(line, style);
  }

  async show(event: SessionEvent): Promise<void> {
    for (const { text, style, isMessage = false } of this.#lines.take(event)) {
      if (isMessage) await this.#writer.note("");
      await this.#writer.note(text, style);
      if (isMessage) await this.#writer.note("");
    }
    switch (event.type) {
      case "step.started":
        if (this.#showsActivity) await this.#writer.status(`${event.data.model.modelId} …`);
        return;
      case "part.text-delta":
        return await this.#writer.writeText({ kind: "text", id: event.data.id }, event.data.text);
      case "part.reasoning-delta":
        return await this.#writer.writeText(
          { kind: "reasoning", id: event.data.id },
          event.data.text,
        );
      case "part.text-end":
      case "part.reasoning-end":
        return await this.#writer.endBlock();
      default:
    }
  }
}

// Writes a turn: the model's text to stdout (drawn as Markdown on a terminal), all else to stderr, each block
// and note on separate lines, so that both read well on one terminal. Each method decides what to write before it awaits: concurrent
// calls keep their order.

/** A block of text or reasoning. A model may stream several at a time. */
interface Block {
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
  #endsBlank = false;
  /** Undefined where blocks are written as the model wrote them. */
  readonly #markdown: Readonly<Record<Block["kind"], MarkdownStream | undefined>>;

  constructor(output: Output) {
    this.#output = output;
    const { data, progress } = output;
    const columns = (): number => Math.max(20, data.columns || 80);
    this.#markdown = {
      text: data.isTerminal
        ? new MarkdownStream({ columns, style: (style, text) => data.style(style, text) })
        : undefined,
      // Reasoning is dim as a whole.
      reasoning:
        progress.writeAbove === undefined
          ? undefined
          : new MarkdownStream({ columns, style: (_style, text) => text }),
    };
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
    this.#endsBlank = false;
    if (kind === "text") this.#hasText = true;
    writes.push(this.#piece(kind, text));
    await Promise.all(writes);
  }

  async endBlock(): Promise<void> {
    await Promise.all(this.#endBlock());
  }

  async note(line: string, style: Style = "dim"): Promise<void> {
    const writes = this.#endBlock();
    this.#hasWritten = true;
    // The note may quote several lines: unindented, they would pass for notes of ours.
    const text = visibleText(line.replaceAll(/\r?\n(?=[^])/g, "\n  "));
    const { progress } = this.#output;
    const shown = progress.isTerminal ? wrappedLines(text, progress.columns || 80) : text;
    this.#endsBlank = line === "";
    await Promise.all([...writes, this.#progress(`${progress.style(style, shown)}\n`)]);
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
    const markdown = open && this.#markdown[open.kind];
    if (open !== undefined && markdown !== undefined)
      writes.push(this.#rows(open.kind, markdown.end(), []));
    else if (open?.endsLine === false) writes.push(this.#channelOf(open.kind).write("\n"));
    return writes;
  }

  #piece(kind: Block["kind"], text: string): Promise<void> {
    const { data } = this.#output;
    const markdown = this.#markdown[kind];
    if (markdown !== undefined) {
      const { final, open } = markdown.add(visibleText(text));
      return this.#rows(kind, final, open);
    }
    if (kind === "text") return data.write(replyText(data, text));
    return this.#progress(this.#styled("dim", text));
  }

  #rows(kind: Block["kind"], final: readonly string[], open: readonly string[]): Promise<void> {
    const channel = this.#channelOf(kind);
    const shown = (row: string): string =>
      kind === "text" || row === "" ? row : channel.style("dim", row);
    const text = final.map((row) => `${shown(row)}\n`).join("");
    if (channel.writeAbove !== undefined) return channel.writeAbove(text, open.map(shown));
    return text === "" ? Promise.resolve() : channel.write(text);
  }

  /** An empty line between two texts; on one screen, before a text that follows anything. */
  #paragraph(kind: Block["kind"]): Promise<void>[] {
    if (kind !== "text") return [];
    if (this.#isOneScreen)
      return this.#hasWritten && !this.#endsBlank ? [this.#progress("\n")] : [];
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

// Shows a turn as text on a terminal or in a pipe, or as its events, one JSON value a line.

export interface TurnView {
  show(event: SessionEvent): Promise<void>;
  /** Called when Ctrl-C has cancelled the turn. */
  cancelling(): Promise<void>;
  /** Asks whether a call may run, until the signal aborts. Absent if nobody can answer. */
  approve?(callId: string, signal: AbortSignal): Promise<Asked>;
  /** Says why an answer was not taken. */
  refused?(why: string): Promise<void>;
}

/** The answer, or that the person leaves with Ctrl-C or Ctrl-D. */
export type Asked =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "left" };

export type AskApproval = (question: string, signal: AbortSignal) => Promise<Asked>;

const CANCELLING = "Cancelling. Ctrl-C again leaves immediately.";

/** @param open - Calls of a step that began before this view. */
export function textView(
  output: Output,
  ask: AskApproval | undefined,
  open: readonly OpenCall[] = [],
): TurnView {
  const screen = new TurnScreen(redrawn(output), { open });
  return {
    show: (event) => screen.show(event),
    cancelling: () => screen.note(CANCELLING),
    ...(ask !== undefined && {
      refused: (why: string) => screen.note(why, "yellow"),
      async approve(callId: string, signal: AbortSignal) {
        await screen.endLine();
        // The question bypasses this channel: wait until earlier text is out.
        await output.progress.write("");
        return await ask(screen.describeQuestion(callId), signal);
      },
    }),
  };
}

/** Only events of the session on stdout. It asks nothing: programs read JSON. */
export function jsonView({ data, progress }: Output, session: string): TurnView {
  return {
    show: (event) => writeLine(data, jsonText({ session, ...event })),
    cancelling: () => writeLine(progress, CANCELLING),
  };
}
