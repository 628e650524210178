/**
 * The two streams of a command: data goes to stdout, all else to stderr. No other file of `cli` writes to
 * them. Every line is made safe here. Colours appear only on a terminal, and never with NO_COLOR.
 */

import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { styleText } from "node:util";
import { safeJson, visibleText } from "./visible-text.ts";

/** The folder of the store without `--dir`, relative to the current folder. */
export const DEFAULT_DIR = ".turnlog";

export type Style = Parameters<typeof styleText>[0];

export interface Channel {
  readonly isTerminal: boolean;
  /** Whether another process reads the stream. It may show it on a terminal. */
  readonly isPipe: boolean;
  /** Characters in a line of the terminal; undefined without a terminal. */
  readonly columns: number | undefined;
  /** Lines of the terminal; undefined without a terminal. */
  readonly rows: number | undefined;
  style(style: Style, text: string): string;
  /** Resolves when the text is written; rejects with `EPIPE` when the reader has gone. */
  write(text: string): Promise<void>;
  /** Writes a text, and shows rows below it until the next write. Absent where nothing can be redrawn. */
  readonly writeAbove?: (text: string, rows: readonly string[]) => Promise<void>;
}

export interface Output {
  /** Stdout: the result of the command. */
  readonly data: Channel;
  /** Stderr: progress, notes, questions, errors. */
  readonly progress: Channel;
}

// Node prefers FORCE_COLOR to NO_COLOR; here NO_COLOR wins.
const isPlain = (process.env["NO_COLOR"] ?? "") !== "";

export function processOutput(): Output {
  return { data: channel(process.stdout, 1), progress: channel(process.stderr, 2) };
}

function channel(stream: NodeJS.WriteStream, descriptor: 1 | 2): Channel {
  const isTerminal = isatty(descriptor);
  // Each write reports its own error; without a listener the stream would throw it again.
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return {
    isTerminal,
    isPipe: !isTerminal && isPipe(descriptor),
    get columns() {
      return isTerminal ? stream.columns : undefined;
    },
    get rows() {
      return isTerminal ? stream.rows : undefined;
    },
    style: (style, text) => (isPlain ? text : styleText(style, text, { stream })),
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
  };
}

function isPipe(descriptor: number): boolean {
  const found = fstatSync(descriptor);
  return found.isFIFO() || found.isSocket();
}

/**
 * The text of a reply as a channel may get it: unchanged into a file, visible elsewhere. The reader of
 * a pipe may show it on a terminal, and a terminal obeys control characters.
 */
export function replyText({ isTerminal, isPipe }: Channel, text: string): string {
  return isTerminal || isPipe ? visibleText(text) : text;
}

/** The escape sequences of our own styles; a line may hold no others. */
// oxlint-disable-next-line no-control-regex
const ownStyle = /(\u001B\[(?:0|1|2|3|22|23|3[1-6]|39)m)/;

/** Makes a line safe that may quote names and contents. */
function safeLine(line: string): string {
  return line
    .split(ownStyle)
    .map((part, index) => (index % 2 === 1 ? part : visibleText(part)))
    .join("");
}

export async function writeLine(channel: Channel, line: string): Promise<void> {
  await channel.write(`${safeLine(line)}\n`);
}

/** Writes a line for a person to read. A terminal gets it with breaks between words. */
export async function writeSentence(channel: Channel, line: string): Promise<void> {
  const safe = safeLine(line);
  if (!channel.isTerminal) return await channel.write(`${safe}\n`);
  // Loaded when it is needed: help and version load nothing.
  const { wrappedLines } = await import("../terminal/cells.ts");
  await channel.write(`${wrappedLines(safe, channel.columns || 80)}\n`);
}

const CHUNK = 65_536;

/** Writes many lines in chunks, and waits for the reader after each. */
export async function writeLines(
  channel: Channel,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  await writeChunks(channel, lines, safeLine);
}

/** Writes lines of JSON: unchanged, but on a terminal with unsafe characters escaped. */
export async function writeData(
  channel: Channel,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  await writeChunks(channel, lines, channel.isTerminal ? safeJson : (line) => line);
}

async function writeChunks(
  channel: Channel,
  lines: Iterable<string> | AsyncIterable<string>,
  safe: (line: string) => string,
): Promise<void> {
  let chunk = "";
  for await (const line of lines) {
    chunk += `${safe(line)}\n`;
    if (chunk.length < CHUNK) continue;
    await channel.write(chunk);
    chunk = "";
  }
  if (chunk !== "") await channel.write(chunk);
}

/** The stream that questions and the chat are drawn on. Callers make their text visible first. */
export const questionScreen: NodeJS.WriteStream = process.stderr;

/** Whether an error says that the reader of our output has gone, as after `| head`. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

/** Stdout is a protocol's alone: what the module of an agent prints goes to stderr. */
export function ownStdout(): Disposable {
  const { log, info, debug, error } = console;
  Object.assign(console, { log: error, info: error, debug: error });
  return { [Symbol.dispose]: () => void Object.assign(console, { log, info, debug }) };
}
