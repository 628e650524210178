/**
 * The port of what lies beside the log: large content, each once, under the SHA-256 of its bytes.
 * Callers: the runtime (put before an event that refers to it, get for a prompt), backup, export,
 * verify. An implementation knows no sessions: who collects says what is used.
 */

/** Bytes, whole or as they come. */
export type BlobSource = Uint8Array | AsyncIterable<Uint8Array>;

/** A blob by its name. */
export interface BlobEntry {
  /** Lower-case hexadecimal SHA-256 of its bytes. */
  readonly sha256: string;
  readonly bytes: number;
}

/** A blob that was put. Until it is disposed of, no collection takes it: its event may be under way. */
export interface HeldBlob extends BlobEntry, Disposable {}

/** How bytes are put. */
export interface PutOptions {
  /** More than so many bytes are refused. Default: no limit. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** What a collection may take. */
export interface CollectOptions {
  /** The only blobs that may go, by digest. Default: all. */
  readonly among?: Iterable<string>;
}

/** What a collection took away. */
export interface CollectedBlobs {
  readonly removed: number;
  /** Bytes of those. */
  readonly bytes: number;
}

/**
 * The port of what lies beside a log: bytes by their SHA-256. `folderBlobs` and `memoryBlobs` implement it;
 * `blobStoreContract` of `turnlog/testing` says whether another one does.
 */
export interface BlobStore {
  /**
   * Stores bytes and answers their name. Resolves when they are as durable as the store is meant to
   * be; a process that dies before leaves the whole blob or nothing that anybody could take for it.
   * Putting the same bytes again stores nothing, and mends a stored blob that was altered.
   * @throws TurnlogError `BLOB_TOO_LARGE`, `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`; what the source
   * throws; the signal's reason. Nothing is stored then.
   */
  put(source: BlobSource, options?: PutOptions): Promise<HeldBlob>;

  /**
   * The bytes of a blob as they are read. Whether they are those that were put is known when all are
   * read: who acts on them waits for that ({@link readBlob}).
   * @throws TurnlogError `BLOB_MISSING`, `BLOB_DAMAGED` (behind the last bytes), `INVALID_INPUT`, `LOG_FAILED`
   */
  get(sha256: string): AsyncIterable<Uint8Array>;

  /**
   * Whether there is one, whatever its bytes are now. What is held from before it was asked is there
   * as long as it is held. @throws TurnlogError `INVALID_INPUT`
   */
  has(sha256: string): Promise<boolean>;

  /** All blobs, in the order of their names. */
  list(): AsyncIterable<BlobEntry>;

  /**
   * Takes away the blobs that nobody uses. Which are used is asked after those that may go are known:
   * what is put meanwhile, and what is still held, stays. Where `used` throws, nothing is taken.
   */
  collect(
    used: () => Promise<ReadonlySet<string>>,
    options?: CollectOptions,
  ): Promise<CollectedBlobs>;

  /**
   * Until it is disposed of, collections take nothing, also those under way: for who copies. With
   * `among`, nothing of these digests, of which there may be none yet: for who refers to what is there.
   */
  hold(among?: Iterable<string>): Disposable;
}

/** @throws TurnlogError as `BlobStore.get` */
export async function readBlob(
  blobs: Pick<BlobStore, "get">,
  sha256: string,
): Promise<Uint8Array<ArrayBuffer>> {
  return Buffer.concat(await Array.fromAsync(blobs.get(sha256)));
}
