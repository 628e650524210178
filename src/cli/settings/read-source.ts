/**
 * What a command is given to read: a file by its path, or stdin as `-`. Read as often as is asked for;
 * what can be read once only (stdin, a pipe) is kept in a file without a name.
 */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Spool } from "../../archive/exchange/index.ts";

export interface ReadSource {
  /** As it is told to a person. */
  readonly name: string;
  /** Without a byte order mark. */
  lines(): AsyncIterable<string>;
}

export async function readSource(file: string): Promise<ReadSource> {
  if (file === "-") return { name: "stdin", lines: kept(process.stdin.setEncoding("utf8")) };
  const path = resolve(file);
  const read = (): AsyncIterable<string> => createReadStream(path, "utf8");
  if ((await stat(path)).isFile()) return { name: path, lines: () => textLines(unmarked(read())) };
  return { name: path, lines: kept(read()) };
}

function kept(pieces: AsyncIterable<string>): () => AsyncIterable<string> {
  let spool: Promise<Spool> | undefined;
  return async function* () {
    spool ??= Spool.open();
    yield* (await spool).through(textLines(unmarked(pieces)));
  };
}

const MARK = "\uFEFF";

async function* unmarked(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    yield isFirst && piece.startsWith(MARK) ? piece.slice(MARK.length) : piece;
    isFirst = false;
  }
}

/**
 * The lines of a text that comes in pieces. Ended by `\n` alone: Node's `readline` also breaks at
 * U+2028 and U+2029, which JSON leaves in strings as they are.
 */
async function* textLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const piece of pieces) {
    const [first = "", ...lines] = piece.split("\n");
    begun.push(first);
    const next = lines.pop();
    if (next === undefined) continue;
    // Put together once, however many pieces a long line comes in.
    yield begun.join("");
    yield* lines;
    begun = [next];
  }
  const rest = begun.join("");
  if (rest !== "") yield rest;
}
