/**
 * Keeps lines that arrive once so that an import can read them twice, in an unlinked file that ends with the
 * process. Encrypted with a key in memory: plain text of an encrypted store must not reach the disk.
 */

import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PIECE = 64 * 1024;
/** Bytes of the length in front of each line: a line may contain any character. */
const LENGTH_BYTES = 4;

export class Spool implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #key = randomBytes(32);
  readonly #vector = randomBytes(16);
  #isComplete = false;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @param dir - The folder of the store. Default: the folder for temporary files. */
  static async open(dir: string = tmpdir()): Promise<Spool> {
    const path = join(dir, `import-${randomUUID()}`);
    const file = await open(path, "wx+", 0o600);
    await rm(path);
    return new Spool(file);
  }

  /** The first call passes the lines through and stores them; later calls answer the stored lines. */
  async *through(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
    if (this.#isComplete) {
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
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32BE(bytes.length);
      waiting.push(length, bytes);
      size += bytes.length;
      if (size >= PIECE) await write();
      yield line;
    }
    await write();
    this.#isComplete = true;
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
      const length = await take(LENGTH_BYTES);
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
