/** The input of a command: a file, or stdin as `-`. Stdin and pipes are spooled, to be read several times. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Spool } from "../../archive/exchange/index.ts";
import { textLines } from "../../shared/index.ts";

export interface ReadSource extends AsyncDisposable {
  /** The name for messages. */
  readonly name: string;
  /** The lines, without a byte order mark. */
  lines(): AsyncIterable<string>;
}

export async function readSource(file: string): Promise<ReadSource> {
  if (file === "-") return spooled("stdin", process.stdin.setEncoding("utf8"));
  const path = resolve(file);
  const read = (): AsyncIterable<string> => createReadStream(path, "utf8");
  if (!(await stat(path)).isFile()) return spooled(path, read());
  return {
    name: path,
    lines: () => textLines(unmarked(read())),
    [Symbol.asyncDispose]: async () => {},
  };
}

function spooled(name: string, pieces: AsyncIterable<string>): ReadSource {
  let spool: Promise<Spool> | undefined;
  return {
    name,
    async *lines() {
      spool ??= Spool.open();
      yield* (await spool).through(textLines(unmarked(pieces)));
    },
    async [Symbol.asyncDispose]() {
      await (await spool)?.[Symbol.asyncDispose]();
    },
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
