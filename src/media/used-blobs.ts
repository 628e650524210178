/** Which blobs the sessions of a log have, read from their events: what is not among them may go. */

import {
  readableEvents,
  TurnlogError,
  type BlobStore,
  type CollectedBlobs,
  type Deleted,
  type DeleteOptions,
  type EventLog,
} from "../events/index.ts";

type Readable = Pick<EventLog, "list" | "read" | "deleted">;

/**
 * The blobs of all sessions, by digest.
 * @throws TurnlogError `LOG_DAMAGED` and what else reading may throw: a session that cannot be read
 * may have any blob
 */
export async function usedBlobs(log: Readable): Promise<ReadonlySet<string>> {
  for (;;) {
    const before = await deletions(log);
    const used = await blobsInSessions(log);
    // A session that is deleted while forks are read may have given them events that were not read.
    if (used !== undefined && (await deletions(log)) === before) return used;
  }
}

/** How many sessions were deleted, ever: their names are not used again. */
async function deletions(log: Readable): Promise<number> {
  let count = 0;
  for await (const _ of log.deleted()) count += 1;
  return count;
}

/** Undefined where a session was deleted meanwhile. */
async function blobsInSessions(log: Readable): Promise<ReadonlySet<string> | undefined> {
  const used = new Set<string>();
  try {
    for await (const { session, forkedFrom } of log.list()) {
      // What it shares is read where it was written.
      const from = (forkedFrom?.position ?? 0) + 1;
      for await (const sha256 of blobsOfSession(log, session, from)) used.add(sha256);
    }
    return used;
  } catch (error) {
    if (TurnlogError.isInstance(error) && error.code === "SESSION_DELETED") return undefined;
    throw error;
  }
}

/** The blobs of one session, from a position on. @throws TurnlogError where an event cannot be read that may name one */
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
 * Takes away the blobs that no session of the log has. Sessions may run meanwhile.
 * @throws TurnlogError as {@link usedBlobs}; nothing is taken then
 */
export async function collectBlobs(
  log: Readable,
  blobs: BlobStore,
  among?: Iterable<string>,
): Promise<CollectedBlobs> {
  return await blobs.collect(() => usedBlobs(log), among === undefined ? {} : { among });
}

/** What a deletion took with it. */
export interface DeletedWithBlobs extends Deleted {
  /** Blobs that no other session has, and that are gone with it. */
  readonly blobs: CollectedBlobs;
}

/**
 * Deletes a session, and the blobs that no other one has. Where a log is damaged, nobody knows which
 * those are: they stay, and `onWarning` is told.
 * @throws TurnlogError as `EventLog.delete`
 */
export async function deleteSession(
  log: EventLog,
  blobs: BlobStore | undefined,
  session: string,
  options: DeleteOptions,
  onWarning: (error: TurnlogError) => void,
): Promise<DeletedWithBlobs> {
  const none: CollectedBlobs = { removed: 0, bytes: 0 };
  const warn = (cause: unknown): CollectedBlobs => {
    const code = TurnlogError.isInstance(cause) ? cause.code : "LOG_FAILED";
    const what = `Which blobs session ${session} alone had cannot be told, and they were not deleted with it. Run \`turnlog repair\`, then \`turnlog gc\`.`;
    onWarning(new TurnlogError(code, what, { session, cause }));
    return none;
  };
  let own: readonly string[] = [];
  let trouble: unknown;
  if (blobs !== undefined) {
    try {
      own = await Array.fromAsync(blobsOfSession(log, session));
    } catch (error) {
      trouble = error;
    }
  }
  const deleted = await log.delete(session, options);
  if (trouble !== undefined) return { ...deleted, blobs: warn(trouble) };
  if (blobs === undefined || own.length === 0) return { ...deleted, blobs: none };
  return { ...deleted, blobs: await collectBlobs(log, blobs, own).catch(warn) };
}
