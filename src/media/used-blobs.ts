/** Finds the blobs that sessions use, from their events, and deletes all others. */

import { z } from "zod";
import {
  readableEvents,
  TurnlogError,
  type BlobStore,
  type CollectedBlobs,
  type Deleted,
  type DeleteOptions,
  type EventLog,
  type EventBody,
} from "../events/index.ts";
import { childrenToDelete, storedBlobs, type SnapshotStore } from "../state/index.ts";
import type { BlobsState } from "../projections/index.ts";

type Readable = Pick<EventLog, "list" | "read" | "deleted">;

/** @throws TurnlogError `LOG_DAMAGED` and other errors of reading: an unreadable session may use any blob */
export async function usedBlobs(log: Readable): Promise<ReadonlySet<string>> {
  for (;;) {
    const before = await deletions(log);
    const used = await blobsInSessions(log);
    // A session that has been deleted in the meantime may have given unread events to its forks.
    if (used !== undefined && (await deletions(log)) === before) return used;
  }
}

/** Number of deleted sessions; it never shrinks, since their names are not reused. */
async function deletions(log: Readable): Promise<number> {
  let count = 0;
  for await (const _ of log.deleted()) count += 1;
  return count;
}

/** Undefined if a session has been deleted in the meantime. */
async function blobsInSessions(log: Readable): Promise<ReadonlySet<string> | undefined> {
  const used = new Set<string>();
  try {
    for await (const { session, forkedFrom } of log.list()) {
      // Shared events are read from the session that wrote them.
      const from = (forkedFrom?.position ?? 0) + 1;
      for await (const sha256 of blobsOfSession(log, session, from)) used.add(sha256);
    }
    return used;
  } catch (error) {
    if (TurnlogError.isInstance(error) && error.code === "SESSION_DELETED") return undefined;
    throw error;
  }
}

/** The blobs of one session from a position on. @throws TurnlogError for an unreadable event that may name one */
export async function* blobsOfSession(
  log: Pick<EventLog, "read">,
  session: string,
  from = 1,
): AsyncGenerator<string> {
  const events = readableEvents(log, session, { from }, (error) => {
    const { type } = error.details;
    if (type === undefined || type === "blob.stored") throw error;
  });
  for await (const { type, data } of events) {
    if (type === "blob.stored") yield data.sha256;
  }
}

/**
 * Whether a session refers to a blob, or to any without `digest`. The newest stored state says it of nearly all
 * events.
 */
export async function refersToBlob(
  log: Pick<EventLog, "read"> & SnapshotStore,
  session: string,
  upTo: number,
  digest?: string,
): Promise<boolean> {
  const { position, blobs } = await storedBlobs(log, session, upTo);
  const { stored } = blobs;
  if (digest === undefined ? Object.keys(stored).length > 0 : Object.hasOwn(stored, digest))
    return true;
  for await (const sha256 of blobsOfSession(log, session, position + 1))
    if (digest === undefined || sha256 === digest) return true;
  return false;
}

export async function collectBlobs(
  log: Readable,
  blobs: BlobStore,
  among?: Iterable<string>,
): Promise<CollectedBlobs> {
  return await blobs.collect(() => usedBlobs(log), among === undefined ? {} : { among });
}

/** The result of a deletion in another process. */
export const deletedSchema: z.ZodType<DeletedWithBlobs> = z.lazy(() =>
  z.object({
    session: z.string(),
    revision: z.int(),
    forks: z.array(z.string()),
    repeated: z.boolean(),
    erased: z.boolean(),
    children: z.array(z.string()),
    blobs: z.object({ removed: z.int(), bytes: z.number() }),
  }),
);

export interface DeletedWithBlobs extends Deleted {
  /** Sessions of sub-agents that were deleted with it, theirs included. */
  readonly children: readonly string[];
  /** Deleted blobs, which no other session used. */
  readonly blobs: CollectedBlobs;
}

export type OnLeftBlobs = (why: TurnlogError, collect?: () => Promise<unknown>) => void;

/**
 * Deletes a session with those of its sub-agents, and the blobs that only they use. If a damaged log hides
 * which those are, they stay. @throws TurnlogError as `EventLog.delete`
 * @param onLeft - Gets the reason why blobs stay, and what collects them at another time, where that may help.
 */
export async function deleteSession(
  log: EventLog,
  blobs: BlobStore | undefined,
  session: string,
  options: DeleteOptions,
  onLeft: OnLeftBlobs,
): Promise<DeletedWithBlobs> {
  // Sub-agents first: if the process ends in between, the rest can be found again.
  const below: DeletedWithBlobs[] = [];
  for (const child of await childrenToDelete(log, session, options.forks))
    below.push(await deleteSession(log, blobs, child, options, onLeft));
  const children = below.flatMap((one) => [...one.children, one.session]);
  const own = await deleteAlone(log, blobs, session, options, onLeft);
  const collected = [...below.map((one) => one.blobs), own.blobs];
  const removed = collected.reduce((sum, one) => sum + one.removed, 0);
  const bytes = collected.reduce((sum, one) => sum + one.bytes, 0);
  return { ...own, children, blobs: { removed, bytes } };
}

async function deleteAlone(
  log: EventLog,
  blobs: BlobStore | undefined,
  session: string,
  options: DeleteOptions,
  onLeft: OnLeftBlobs,
): Promise<Omit<DeletedWithBlobs, "children">> {
  const none: CollectedBlobs = { removed: 0, bytes: 0 };
  const leave = (cause: unknown, collect?: () => Promise<unknown>): CollectedBlobs => {
    const code = TurnlogError.isInstance(cause) ? cause.code : "LOG_FAILED";
    const what = `The blobs that only session ${session} used could not be determined and were not deleted with it. Run \`turnlog repair\`, then \`turnlog gc\`.`;
    onLeft(new TurnlogError(code, what, { session, cause }), collect);
    return none;
  };
  let own: readonly string[] = [];
  let failure: unknown;
  if (blobs !== undefined) {
    try {
      own = await Array.fromAsync(blobsOfSession(log, session));
    } catch (error) {
      failure = error;
    }
  }
  const deleted = await log.delete(session, options);
  if (failure !== undefined) return { ...deleted, blobs: leave(failure) };
  if (blobs === undefined || own.length === 0) return { ...deleted, blobs: none };
  const collect = (): Promise<CollectedBlobs> => collectBlobs(log, blobs, own);
  return { ...deleted, blobs: await collect().catch((error: unknown) => leave(error, collect)) };
}

// Limits the bytes of a session's blobs. Messages, tool results and replies store blobs concurrently: each
// claims its bytes first.

const DEFAULT_MAX_SESSION_BYTES = 2_000_000_000;

interface Claim {
  readonly bytes: number;
  count: number;
}

export class BlobQuota {
  readonly #session: string;
  readonly #known: () => BlobsState;
  readonly #limit: number;
  readonly #claims = new Map<string, Claim>();

  constructor(
    session: string,
    known: () => BlobsState,
    maxSessionBytes: number = DEFAULT_MAX_SESSION_BYTES,
  ) {
    this.#session = session;
    this.#known = known;
    this.#limit = maxSessionBytes;
  }

  /** Until the claim is disposed of. A blob of the session costs nothing. @throws TurnlogError `BLOB_TOO_LARGE` */
  claim(sha256: string, bytes: number): Disposable {
    const claim = this.#claims.get(sha256) ?? { bytes, count: 0 };
    if (claim.count === 0) this.#assertWithin([[sha256, bytes]]);
    claim.count += 1;
    this.#claims.set(sha256, claim);
    let isClaimed = true;
    return {
      [Symbol.dispose]: () => {
        if (!isClaimed) return;
        isClaimed = false;
        claim.count -= 1;
        if (claim.count === 0) this.#claims.delete(sha256);
      },
    };
  }

  /** For blobs that an earlier actor of the session claimed. @throws TurnlogError `BLOB_TOO_LARGE` */
  assertWithin(stored: readonly EventBody<"blob.stored">[]): void {
    this.#assertWithin(stored.map(({ data: { sha256, bytes } }) => [sha256, bytes]));
  }

  #assertWithin(more: readonly (readonly [sha256: string, bytes: number])[]): void {
    const { stored, bytes: storedBytes } = this.#known();
    const pending = new Map(more);
    for (const [sha256, { bytes }] of this.#claims) pending.set(sha256, bytes);
    let total = storedBytes;
    let hasNew = false;
    for (const [sha256, bytes] of pending) {
      if (Object.hasOwn(stored, sha256)) continue;
      total += bytes;
      hasNew ||= more.some(([added]) => added === sha256);
    }
    if (hasNew && total > this.#limit) throw this.#refusal(total);
  }

  #refusal(bytes: number): TurnlogError {
    const limit = this.#limit;
    return new TurnlogError(
      "BLOB_TOO_LARGE",
      `Session ${this.#session} would have ${bytes} bytes of blobs, and may have ${limit}. Nothing was recorded. Make it smaller; a program that opens the store may raise \`blobs: { maxSessionBytes }\`.`,
      { session: this.#session, details: { bytes, limit, of: "session" } },
    );
  }
}
