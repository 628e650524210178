/** The checks of options and digests, the errors, and the reading of a source, that blob stores share. */

import { z } from "zod";
import {
  type BlobSource,
  type CollectedBlobs,
  type CollectOptions,
  type PutOptions,
  referredBlob,
  blobReference,
  TurnlogError,
  type TurnlogErrorCode,
  type HeldBlob,
} from "../../events/index.ts";
import { amount, code, implementation, optionsOf } from "../../validation/index.ts";

/** @throws TurnlogError `INVALID_INPUT` for an invalid digest, which would become part of a path */
export function assertDigest(sha256: string): void {
  if (referredBlob(blobReference(sha256)) !== undefined) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `${JSON.stringify(sha256)} is not the name of a blob: a blob is named by the 64 hexadecimal digits of its SHA-256, in lower case.`,
  );
}

export function tooLarge(limit: number): TurnlogError {
  return new TurnlogError(
    "BLOB_TOO_LARGE",
    `The content is larger than ${limit} bytes, the limit for one blob, and was not stored. Make it smaller; a program that opens the store may raise \`blobs: { maxBytes }\`.`,
    { details: { limit } },
  );
}

export function missing(sha256: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "BLOB_MISSING",
    `Blob ${sha256} is missing. Put it back from a backup, or store the same content again.`,
    { details: { sha256 }, cause },
  );
}

export function damaged(sha256: string, found: string): TurnlogError {
  return new TurnlogError(
    "BLOB_DAMAGED",
    `Blob ${sha256} is damaged: its bytes have the SHA-256 ${found}. Put it back from a backup, or store the same content again.`,
    { details: { sha256, found } },
  );
}

const codes: Readonly<Record<string, TurnlogErrorCode>> = {
  ENOSPC: "LOG_FULL",
  EDQUOT: "LOG_FULL",
  EFBIG: "LOG_FULL",
  EROFS: "LOG_READ_ONLY",
  EACCES: "LOG_READ_ONLY",
  EPERM: "LOG_READ_ONLY",
};

/** Turns errors of the file system into the port's errors; returns all others unchanged. */
export function folderFailure(error: unknown, dir: string, doing: "stored" | "read"): unknown {
  if (TurnlogError.isInstance(error) || !(error instanceof Error) || !("syscall" in error)) {
    return error;
  }
  const code = "code" in error ? String(error.code) : "";
  return new TurnlogError(
    codes[code] ?? "LOG_FAILED",
    `A blob could not be ${doing} in ${dir} (${error.message}). Look at the disk, then try again.`,
    { cause: error },
  );
}

export const putSchema: z.ZodType = optionsOf<PutOptions>(
  { maxBytes: amount, signal: implementation({ addEventListener: code }) },
  {},
);
export const collectSchema: z.ZodType = optionsOf<CollectOptions>({ among: z.unknown() }, {});

/** The whole content of a source, within its limit. A copy: the caller may change its bytes. */
export async function collected(
  source: BlobSource,
  { maxBytes = Number.POSITIVE_INFINITY, signal }: PutOptions,
): Promise<Buffer> {
  signal?.throwIfAborted();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    signal?.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

// Holds on blobs that no event refers to yet, so that no collection removes them. Shared by all blob stores.

/** What a collection needs of a store. */
interface CollectedStore {
  names(): Promise<Iterable<string>>;
  /** Undefined if there is no such blob. */
  sizeOf(sha256: string): Promise<number | undefined>;
  remove(sha256: string): Promise<void>;
}

export class BlobHolds {
  readonly #held = new Map<string, number>();
  readonly #leaving = new Map<string, Promise<void>>();
  /** For each collection under way, the blobs held since its start. */
  readonly #collections = new Set<Set<string>>();
  #copies = 0;

  /** Holds a blob, after a removal of it that is under way. */
  async hold({
    sha256,
    bytes,
  }: {
    readonly sha256: string;
    readonly bytes: number;
  }): Promise<HeldBlob> {
    const hold = this.holdNamed([sha256]);
    await this.afterRemoval(sha256);
    return {
      sha256,
      bytes,
      [Symbol.dispose]: () => {
        hold[Symbol.dispose]();
      },
    };
  }

  /** Holds blobs by digest, present or not. Does not wait for removals. */
  holdNamed(digests: Iterable<string>): Disposable {
    const held = [...new Set(digests)];
    for (const sha256 of held) {
      this.#held.set(sha256, (this.#held.get(sha256) ?? 0) + 1);
      for (const spared of this.#collections) spared.add(sha256);
    }
    return {
      [Symbol.dispose]: () => {
        for (const sha256 of held.splice(0)) {
          const rest = (this.#held.get(sha256) ?? 1) - 1;
          if (rest === 0) this.#held.delete(sha256);
          else this.#held.set(sha256, rest);
        }
      },
    };
  }

  async afterRemoval(sha256: string): Promise<void> {
    await this.#leaving.get(sha256);
  }

  /** Prevents all removals until it is disposed. */
  holdAll(): Disposable {
    this.#copies += 1;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#copies -= 1;
        isHeld = false;
      },
    };
  }

  /** Removes unused blobs, but none that is held now or later. A put of one that is being removed waits for it. */
  async collect(
    used: () => Promise<ReadonlySet<string>>,
    { among }: CollectOptions,
    store: CollectedStore,
  ): Promise<CollectedBlobs> {
    const spared = new Set(this.#held.keys());
    this.#collections.add(spared);
    try {
      const candidates = new Set(among ?? (await store.names()));
      const live = await used();
      const gone = { removed: 0, bytes: 0 };
      for (const sha256 of candidates) {
        const size = live.has(sha256) ? undefined : await store.sizeOf(sha256);
        // Of two collections at once, one removes the blob.
        const isKept = this.#copies > 0 || spared.has(sha256) || this.#leaving.has(sha256);
        if (size === undefined || isKept) continue;
        const leaving = store.remove(sha256).finally(() => this.#leaving.delete(sha256));
        this.#leaving.set(
          sha256,
          leaving.catch(() => {}),
        );
        await leaving;
        gone.removed += 1;
        gone.bytes += size;
      }
      return gone;
    } finally {
      this.#collections.delete(spared);
    }
  }
}
