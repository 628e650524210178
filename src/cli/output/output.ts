/**
 * Where a command's words go: data to stdout, everything else to stderr. Nothing else in `cli`
 * writes to either, and lines are made safe here, whoever put them together. Colours only where a terminal shows them and NO_COLOR does not forbid them.
 */

import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { styleText } from "node:util";
import { safeJson, visibleText } from "./visible-text.ts";

export type Style = Parameters<typeof styleText>[0];

/** One of the two streams. */
export interface Channel {
  /** Whether a terminal shows what is written. */
  readonly isTerminal: boolean;
  /** Whether another process reads what is written, which may show it on a terminal too. */
  readonly isPipe: boolean;
  /** Characters in a line of the terminal; undefined where there is none. */
  readonly columns: number | undefined;
  /** Lines of the terminal. */
  readonly rows: number | undefined;
  style(style: Style, text: string): string;
  /** Resolves when the text has been taken; rejects when whoever read it has gone (`EPIPE`). */
  write(text: string): Promise<void>;
}

export interface Output {
  /** What was asked for. */
  readonly data: Channel;
  /** What is told beside it. */
  readonly progress: Channel;
}

// Node lets FORCE_COLOR win; whoever sets NO_COLOR wants no colour.
const isPlain = (process.env["NO_COLOR"] ?? "") !== "";

export function processOutput(): Output {
  return { data: channel(process.stdout, 1), progress: channel(process.stderr, 2) };
}

function channel(stream: NodeJS.WriteStream, descriptor: 1 | 2): Channel {
  const isTerminal = isatty(descriptor);
  // Every write tells its own error; without a listener the stream would throw it a second time.
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
 * What a model says, which is the answer that was asked for: a file has it as it is. Who reads a pipe
 * may show it on a terminal, which obeys some characters.
 */
export function spoken({ isTerminal, isPipe }: Channel, text: string): string {
  return isTerminal || isPipe ? visibleText(text) : text;
}

/** What our own styles are made of; nothing else may steer a terminal. */
// oxlint-disable-next-line no-control-regex
const look = /(\u001B\[(?:0|1|2|22|3[1-6]|39)m)/;

/** Lines that were made of names and contents, whoever put them together. */
function safeLine(line: string): string {
  return line
    .split(look)
    .map((part, index) => (index % 2 === 1 ? part : visibleText(part)))
    .join("");
}

export async function writeLine(channel: Channel, line: string): Promise<void> {
  await channel.write(`${safeLine(line)}\n`);
}

const CHUNK = 65_536;

/** Writes many lines, as fast as they are read and no faster. */
export async function writeLines(
  channel: Channel,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  await writeChunks(channel, lines, safeLine);
}

/** Lines of JSON that are asked for as data: exact, but on a terminal, where they are the same values. */
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

/** The screen that questions are drawn on, by who draws them; what they show is made visible before. */
export const questionScreen: NodeJS.WriteStream = process.stderr;

/** Whether an error says that whoever read our output has gone, as `head` does when it has enough. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}
