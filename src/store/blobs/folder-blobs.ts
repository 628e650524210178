/**
 * Blobs in a folder: `ab/<sha256>`, and `incoming/` for unfinished ones. A blob gets its name when it is
 * written and synced. One process at a time uses the folder, under the store's lock.
 */

import {
  collectSchema,
  putSchema,
  assertDigest,
  damaged,
  folderFailure,
  missing,
  tooLarge,
  BlobHolds,
} from "./blob-checks.ts";
import type {
  BlobEntry,
  BlobSource,
  BlobStore,
  CollectedBlobs,
  CollectOptions,
  HeldBlob,
  PutOptions,
} from "../../events/index.ts";
import { check, flag, name, optionsOf } from "../../validation/index.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER, syncFolder } from "../folder/index.ts";
import { createHash, hash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface FolderBlobsOptions {
  /** Sync blobs, so that they survive a power cut, not only the death of the process. Default: true. */
  readonly sync?: boolean;
}

const schema = optionsOf<FolderBlobsOptions>({ sync: flag }, {});

/** Tells files of this process from those of dead ones; a pid may be reused. */
const PROCESS = randomUUID();
let files = 0;
const PRIVATE = { recursive: true, mode: PRIVATE_FOLDER } as const;

/**
 * Opens the blobs of a folder, which is created at the first put.
 * @example
 * const runtime = await createRuntime({ log, agent, blobs: { store: folderBlobs("/var/lib/blobs") } });
 */
export function folderBlobs(dir: string, options: FolderBlobsOptions = {}): BlobStore {
  check(name, dir, "folderBlobs", { name: "dir" });
  check(schema, options, "folderBlobs", { name: "options" });
  const { sync = true } = options;
  return new FolderBlobs(dir, sync);
}

class FolderBlobs implements BlobStore {
  readonly #dir: string;
  readonly #sync: boolean;
  readonly #holds = new BlobHolds();
  /** Folders that are synced together with the folders above them. */
  readonly #syncedFolders = new Set<string>();
  #swept: Promise<void> | undefined;

  constructor(dir: string, sync: boolean) {
    this.#dir = dir;
    this.#sync = sync;
  }

  async put(source: BlobSource, options: PutOptions = {}): Promise<HeldBlob> {
    check(putSchema, options, "put", { name: "options" });
    const incoming = join(this.#dir, "incoming", `${PROCESS}-${files++}`);
    let held: HeldBlob | undefined;
    try {
      options.signal?.throwIfAborted();
      await this.#sweep();
      const known = await this.#known(source, options);
      if (known !== undefined) return known;
      const written = await this.#write(incoming, source, options);
      held = await this.#holds.hold(written);
      await this.#name(incoming, held);
      return held;
    } catch (error) {
      held?.[Symbol.dispose]();
      // The first error counts; the next process deletes what this leaves.
      await rm(incoming, { force: true }).catch(() => {});
      throw folderFailure(error, this.#dir, "stored");
    }
  }

  async *get(sha256: string): AsyncGenerator<Uint8Array> {
    assertDigest(sha256);
    const digest = createHash("sha256");
    try {
      const chunks: AsyncIterable<Buffer> = createReadStream(this.#pathOf(sha256));
      for await (const chunk of chunks) {
        digest.update(chunk);
        yield chunk;
      }
    } catch (error) {
      throw isAbsent(error) ? missing(sha256, error) : folderFailure(error, this.#dir, "read");
    }
    const found = digest.digest("hex");
    if (found !== sha256) throw damaged(sha256, found);
  }

  async has(sha256: string): Promise<boolean> {
    assertDigest(sha256);
    await this.#holds.afterRemoval(sha256);
    return (await this.#sizeOf(sha256)) !== undefined;
  }

  async *list(): AsyncGenerator<BlobEntry> {
    for (const folder of (await namesIn(this.#dir)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
      for (const sha256 of await namesIn(join(this.#dir, folder))) {
        if (!/^[0-9a-f]{64}$/.test(sha256) || !sha256.startsWith(folder)) continue;
        const bytes = await this.#sizeOf(sha256);
        // It may have been collected in the meantime.
        if (bytes !== undefined) yield { sha256, bytes };
      }
    }
  }

  async collect(
    used: () => Promise<ReadonlySet<string>>,
    options: CollectOptions = {},
  ): Promise<CollectedBlobs> {
    check(collectSchema, options, "collect", { name: "options" });
    await this.#sweep();
    return await this.#holds.collect(used, options, {
      names: () => Array.fromAsync(this.list(), ({ sha256 }) => sha256),
      sizeOf: (sha256) => this.#sizeOf(sha256),
      remove: (sha256) => rm(this.#pathOf(sha256), { force: true }),
    });
  }

  hold(among?: Iterable<string>): Disposable {
    return among === undefined ? this.#holds.holdAll() : this.#holds.holdNamed(among);
  }

  /** Holds a blob that exists already, if all its bytes are given: nothing is written then. */
  async #known(source: BlobSource, { maxBytes }: PutOptions): Promise<HeldBlob | undefined> {
    if (!(source instanceof Uint8Array)) return undefined;
    const { byteLength: bytes } = source;
    if (maxBytes !== undefined && bytes > maxBytes) throw tooLarge(maxBytes);
    const sha256 = hash("sha256", source);
    if ((await this.#sizeOf(sha256)) !== bytes) return undefined;
    const held = await this.#holds.hold({ sha256, bytes });
    if (await this.#isWhole(sha256)) return held;
    // Altered, or removed before it was held: it is written again.
    held[Symbol.dispose]();
    return undefined;
  }

  async #write(
    path: string,
    source: BlobSource,
    { maxBytes = Number.POSITIVE_INFINITY, signal }: PutOptions,
  ): Promise<BlobEntry> {
    const digest = createHash("sha256");
    let bytes = 0;
    const folder = dirname(path);
    await mkdir(folder, PRIVATE);
    const file = await open(path, "wx", PRIVATE_FILE);
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        signal?.throwIfAborted();
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        digest.update(chunk);
        await file.writeFile(chunk);
      }
      if (this.#sync) await file.sync();
    } finally {
      await file.close();
    }
    return { sha256: digest.digest("hex"), bytes };
  }

  async #name(incoming: string, { sha256 }: BlobEntry): Promise<void> {
    const path = this.#pathOf(sha256);
    const folder = dirname(path);
    const made = await mkdir(folder, PRIVATE);
    // Replaces a file of the same digest: equal, or damaged.
    await rename(incoming, path);
    if (made !== undefined) this.#syncedFolders.delete(folder);
    await this.#syncName(path);
  }

  /** Makes a blob's name durable: syncs its folder and the folders above. */
  async #syncName(path: string): Promise<void> {
    const folder = dirname(path);
    await this.#syncFolder(folder);
    // A process that created the folder may have died before it was synced.
    if (this.#syncedFolders.has(folder)) return;
    await this.#syncFolder(this.#dir);
    await this.#syncFolder(dirname(this.#dir));
    this.#syncedFolders.add(folder);
  }

  /** Whether a stored blob is intact. If so, makes it as durable as a new one. */
  async #isWhole(sha256: string): Promise<boolean> {
    try {
      for await (const _ of this.get(sha256)) void _;
    } catch {
      // Missing, altered or unreadable: it is written again in any case.
      return false;
    }
    // The process that wrote it may have died before it was synced.
    await this.#syncFolder(this.#pathOf(sha256));
    await this.#syncName(this.#pathOf(sha256));
    return true;
  }

  async #syncFolder(path: string): Promise<void> {
    if (this.#sync) await syncFolder(path);
  }

  #sweep(): Promise<void> {
    this.#swept ??= (async () => {
      const folder = join(this.#dir, "incoming");
      for (const name of await namesIn(folder)) {
        if (!name.startsWith(PROCESS)) await rm(join(folder, name), { force: true });
      }
    })();
    this.#swept.catch(() => {
      this.#swept = undefined;
    });
    return this.#swept;
  }

  #pathOf(sha256: string): string {
    return join(this.#dir, sha256.slice(0, 2), sha256);
  }

  async #sizeOf(sha256: string): Promise<number | undefined> {
    try {
      return (await stat(this.#pathOf(sha256))).size;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw folderFailure(error, this.#dir, "read");
    }
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw folderFailure(error, folder, "read");
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
