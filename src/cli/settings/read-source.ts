/** The input of a command: a file, or stdin as `-`. */

import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { textLines } from "../../shared/index.ts";

export interface ReadSource {
  /** The name for messages. */
  readonly name: string;
  /** The lines, without a byte order mark. */
  readonly lines: AsyncIterable<string>;
}

export function readSource(file: string): ReadSource {
  const path = resolve(file);
  return file === "-"
    ? { name: "stdin", lines: textLines(unmarked(process.stdin.setEncoding("utf8"))) }
    : { name: path, lines: textLines(unmarked(createReadStream(path, "utf8"))) };
}

const MARK = "\uFEFF";

async function* unmarked(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    yield isFirst && piece.startsWith(MARK) ? piece.slice(MARK.length) : piece;
    isFirst = false;
  }
}
