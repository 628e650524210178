/** A session as the lines of a file, read from its log as they are asked for. */

import { check, code, implementation, oneOf, optionsOf } from "../../validation/index.ts";
import { isEncrypted } from "../../store/encryption/index.ts";
import {
  blobLine,
  eventLine,
  headerLine,
  readBlob,
  TurnlogError,
  type BlobStore,
  type EventLog,
} from "../../events/index.ts";
import { blobsOf, blobsOfSession } from "../../media/index.ts";
import { linkOf, checkPosition, readSummary } from "../../state/index.ts";
import { relinkedPlain } from "./relinked.ts";

/** What becomes of blobs in an export. */
export interface ExportOptions {
  /**
   * `inline` (default) has the blobs in the file, each once, as base64; with `none` they are left to
   * whoever exports ({@link copyBlobs}), and a session is imported only where they are.
   */
  readonly blobs?: "inline" | "none";
  /** Where blobs lie. Default: those of the log. */
  readonly store?: BlobStore | undefined;
  /** Told of a blob that is missing or damaged, which is then left out. Default: the export fails. */
  readonly onLost?: (error: TurnlogError) => void;
}

const schema = optionsOf<ExportOptions>(
  { blobs: oneOf("inline", "none"), store: implementation({ get: code }), onLost: code },
  {},
);

/**
 * The lines of a session's file, without their ends: a header, then one event a line, of a fork also
 * those that it shares: it is whole wherever it is imported. What is recorded after the first line was
 * read is not in it. Of an encrypted session it is what was said, in plain text; its events as they are
 * stored are those of `EncryptedLog.stored`, unless it shares some with another session.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `COMMAND_REFUSED` for sealed events that it shares, `BLOB_MISSING`, `BLOB_DAMAGED`, and what `EventLog.read` throws
 */
export async function* exportSession(
  log: EventLog,
  session: string,
  options: ExportOptions = {},
): AsyncGenerator<string> {
  check(schema, options, "exportSession", { name: "options", session });
  const { blobs = "inline", store = blobsOf(log), onLost } = options;
  await checkPosition(log, session);
  const events = await log.revision(session);
  await assertOwnKey(log, session);
  const { forkedFrom } = await readSummary(log, session, events);
  const source = blobs === "inline" && (await hasBlobs(log, session)) ? store : undefined;
  yield headerLine({
    session,
    events,
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
    ...(source === undefined ? {} : { blobs: "inline" }),
  });
  const relinked = relinkedPlain(log);
  for await (const event of log.read(session, { to: events })) {
    if (event.type === "blob.stored" && source !== undefined) {
      const { sha256 } = event.data;
      const content = await unlessLost(() => readBlob(source, sha256), onLost);
      if (content !== undefined) yield blobLine({ sha256, content });
    }
    yield eventLine(relinked(event));
  }
}

/** What a fork shares is sealed with the key of whoever wrote it, and would be read with its own. */
async function assertOwnKey(log: EventLog, session: string): Promise<void> {
  const link = await linkOf(log, session);
  if (link === undefined) return;
  for await (const event of log.read(session, { to: link.position })) {
    if (!isEncrypted(event)) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} shares what it has up to ${link.position} with ${link.session}, sealed with the key of that session: exported sealed, nobody could read it again. Export it in plain text (from the encrypted log, without \`--sealed\`), or export ${link.session}; or give it its own copy by deleting ${link.session} (\`forks: "copy"\`, \`turnlog delete ${link.session} --forks copy\`) first.`,
      { session, position: event.position, details: { from: link } },
    );
  }
}

/** Undefined where a blob is lost, and somebody has been told. */
async function unlessLost<Value>(
  take: () => Promise<Value>,
  onLost: ExportOptions["onLost"],
): Promise<Value | undefined> {
  try {
    return await take();
  } catch (error) {
    const isLost =
      TurnlogError.isInstance(error) &&
      (error.code === "BLOB_MISSING" || error.code === "BLOB_DAMAGED");
    if (!isLost || onLost === undefined) throw error;
    onLost(error);
    return undefined;
  }
}

async function hasBlobs(log: EventLog, session: string): Promise<boolean> {
  for await (const _ of blobsOfSession(log, session)) return true;
  return false;
}

/**
 * Copies the blobs of a session from one store of blobs into another, for an export beside its file.
 * Answers how many there are. @throws TurnlogError `BLOB_MISSING`, `BLOB_DAMAGED`, and as `BlobStore.put`
 */
export async function copyBlobs(
  log: EventLog,
  session: string,
  from: BlobStore,
  to: BlobStore,
  onLost?: ExportOptions["onLost"],
): Promise<number> {
  let count = 0;
  for await (const sha256 of blobsOfSession(log, session)) {
    using held = await unlessLost(() => to.put(from.get(sha256)), onLost);
    if (held !== undefined) count += 1;
  }
  return count;
}
