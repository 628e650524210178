/**
 * Keeps pages of text that are read again later: in memory while they are small, then in an unlinked file that ends
 * with the process. Encrypted with a key in memory: plain text of an encrypted store must not reach the disk.
 */

import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Characters in memory. */
const MOST_WAITING = 1024 * 1024;
const CIPHER = "aes-256-ctr";

export class Spool implements AsyncDisposable {
  readonly #dir: string;
  readonly #key = randomBytes(32);
  readonly #vector = randomBytes(16);
  readonly #cipher = createCipheriv(CIPHER, this.#key, this.#vector);
  #file: FileHandle | undefined;
  /** Bytes of each page in the file. */
  readonly #written: number[] = [];
  /** The pages behind those. */
  #waiting: string[] = [];
  #size = 0;

  /** @param dir - The folder of the store. Default: the folder for temporary files. */
  constructor(dir: string = tmpdir()) {
    this.#dir = dir;
  }

  /** Adds a page of well-formed text. Resolves when there is room for the next. */
  async add(page: string): Promise<void> {
    this.#waiting.push(page);
    this.#size += page.length;
    if (this.#size < MOST_WAITING) return;
    const pages = this.#waiting.map((text) => Buffer.from(text));
    this.#waiting = [];
    this.#size = 0;
    this.#file ??= await openUnlinked(this.#dir);
    for (const bytes of pages) {
      await this.#file.writeFile(this.#cipher.update(bytes));
      this.#written.push(bytes.length);
    }
  }

  /** The pages in their order, as often as they are asked for. */
  async *pages(): AsyncGenerator<string> {
    const decipher = createDecipheriv(CIPHER, this.#key, this.#vector);
    let position = 0;
    for (const length of this.#written) {
      const bytes = Buffer.alloc(length);
      for (let read = 0; read < length;) {
        const { bytesRead = 0 } =
          (await this.#file?.read(bytes, read, length - read, position + read)) ?? {};
        if (bytesRead === 0) throw new Error("A temporary file of the import was cut off.");
        read += bytesRead;
      }
      position += length;
      yield decipher.update(bytes).toString();
    }
    yield* this.#waiting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }
}

async function openUnlinked(dir: string): Promise<FileHandle> {
  const path = join(dir, `import-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  return file;
}
