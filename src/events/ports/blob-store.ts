/** The port for large content: each blob is stored once, under the SHA-256 of its bytes. It knows no sessions. */

export type BlobSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface BlobEntry {
  /** Lower-case hexadecimal SHA-256 of its bytes. */
  readonly sha256: string;
  readonly bytes: number;
}

/** A blob that was just put. No collection removes it before it is disposed of: its event may still be unwritten. */
export interface HeldBlob extends BlobEntry, Disposable {}

export interface PutOptions {
  /** Refuse more than this many bytes. Default: no limit. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface CollectOptions {
  /** Digests of the only blobs that may be removed. Default: all. */
  readonly among?: Iterable<string>;
}

export interface CollectedBlobs {
  readonly removed: number;
  readonly bytes: number;
}

/**
 * A store of bytes by their SHA-256. `folderBlobs` and `memoryBlobs` implement it;
 * `blobStoreContract` of `turnlog/testing` checks an implementation.
 * @example
 * const blobs: BlobStore = folderBlobs("/var/lib/agents/blobs");
 * const runtime = await createRuntime({ dir, agent, blobs: { store: blobs } });
 */
export interface BlobStore {
  /**
   * Stores bytes and returns their digest. Resolves when they are as durable as the store promises; if
   * the process dies before, the store has the whole blob or none. Putting the same bytes again
   * stores nothing, and repairs a stored blob that was altered.
   * @throws TurnlogError `BLOB_TOO_LARGE`, `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`; the error of the
   * source; the signal's reason. Nothing is stored then.
   */
  put(source: BlobSource, options?: PutOptions): Promise<HeldBlob>;

  /**
   * Reads the bytes of a blob. The digest is checked after the last bytes: use `readBlob` to
   * act on checked bytes only.
   * @throws TurnlogError `BLOB_MISSING`, `BLOB_DAMAGED` (behind the last bytes), `INVALID_INPUT`, `LOG_FAILED`
   */
  get(sha256: string): AsyncIterable<Uint8Array>;

  /**
   * Whether the store has a blob; its bytes are not checked. A blob under a hold that began before this
   * call stays for as long as the hold. @throws TurnlogError `INVALID_INPUT`
   */
  has(sha256: string): Promise<boolean>;

  /** All blobs, by digest. */
  list(): AsyncIterable<BlobEntry>;

  /**
   * Removes unused blobs. The store lists its candidates first and calls `used` then, so blobs that are put
   * during the collection stay, and so do held ones. If `used` throws, nothing is removed.
   */
  collect(
    used: () => Promise<ReadonlySet<string>>,
    options?: CollectOptions,
  ): Promise<CollectedBlobs>;

  /** Until it is disposed of, no collection removes a blob (`among`: one of these, which may come later). */
  hold(among?: Iterable<string>): Disposable;
}

/** Reads a whole blob and checks its digest. @throws TurnlogError as `BlobStore.get` */
export async function readBlob(
  blobs: Pick<BlobStore, "get">,
  sha256: string,
): Promise<Uint8Array<ArrayBuffer>> {
  return Buffer.concat(await Array.fromAsync(blobs.get(sha256)));
}
