/**
 * Lines that come once and are read twice. They wait in a file without a name, which goes with the process,
 * encrypted with a key that only the process has: what of an encrypted store was once in plain text
 * would stay on the disk.
 */

import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Bytes that are written and read at once. */
const PIECE = 64 * 1024;
/** In front of each line stands its length, as a line may hold any character. */
const LENGTH = 4;

export class Spool implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #key = randomBytes(32);
  readonly #vector = randomBytes(16);
  #isKept = false;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @param dir - An own folder of whom the lines are for. Default: that for temporary files. */
  static async open(dir: string = tmpdir()): Promise<Spool> {
    const path = join(dir, `import-${randomUUID()}`);
    const file = await open(path, "wx+", 0o600);
    await rm(path);
    return new Spool(file);
  }

  /** The lines, as they come and are kept; from the second time on, those that were kept. */
  async *through(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
    if (this.#isKept) {
      yield* this.#read();
      return;
    }
    const cipher = createCipheriv("aes-256-ctr", this.#key, this.#vector);
    let waiting: Buffer[] = [];
    let size = 0;
    const write = async (): Promise<void> => {
      const bytes = Buffer.concat(waiting);
      waiting = [];
      size = 0;
      await this.#file.writeFile(cipher.update(bytes));
    };
    for await (const line of lines) {
      const bytes = Buffer.from(line);
      const length = Buffer.alloc(LENGTH);
      length.writeUInt32BE(bytes.length);
      waiting.push(length, bytes);
      size += bytes.length;
      if (size >= PIECE) await write();
      yield line;
    }
    await write();
    this.#isKept = true;
  }

  async *#read(): AsyncGenerator<string> {
    const cipher = createDecipheriv("aes-256-ctr", this.#key, this.#vector);
    let position = 0;
    let rest = Buffer.alloc(0);
    const take = async (size: number): Promise<Buffer | undefined> => {
      while (rest.length < size) {
        const piece = Buffer.alloc(Math.max(PIECE, size - rest.length));
        const { bytesRead } = await this.#file.read(piece, 0, piece.length, position);
        if (bytesRead === 0) return undefined;
        position += bytesRead;
        rest = Buffer.concat([rest, cipher.update(piece.subarray(0, bytesRead))]);
      }
      const taken = rest.subarray(0, size);
      rest = rest.subarray(size);
      return taken;
    };
    for (;;) {
      const length = await take(LENGTH);
      if (length === undefined) return;
      const line = await take(length.readUInt32BE());
      if (line === undefined) return;
      yield line.toString();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
