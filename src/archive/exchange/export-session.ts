/** Exports a session as the lines of a file, reading its log as the lines are consumed. */

import { check, code, implementation, oneOf, optionsOf } from "../../validation/index.ts";
import { isEncrypted } from "../../store/encryption/index.ts";
import {
  shellWord,
  blobLine,
  eventLine,
  headerLine,
  readBlob,
  TurnlogError,
  type BlobStore,
  type EventLog,
} from "../../events/index.ts";
import { OneByOne, pagesOf } from "../../shared/index.ts";
import { blobsOfSession, refersToBlob } from "../../media/index.ts";
import { linkOf, checkPosition, readSummary } from "../../state/index.ts";
import { relinkedPlain } from "./import-session.ts";

export interface ExportOptions {
  /**
   * `inline` (default): the file contains each blob once, as base64. `none`: an import needs them in its store;
   * `turnlog export --blobs <dir>` copies them.
   */
  readonly blobs?: "inline" | "none";
  readonly store?: BlobStore | undefined;
  /** Called for a missing or damaged blob, which is then left out. Default: the export fails. */
  readonly onLost?: (error: TurnlogError) => void;
}

const schema = optionsOf<ExportOptions>(
  { blobs: oneOf("inline", "none"), store: implementation({ get: code }), onLost: code },
  {},
);

/** Characters of lines that are made before the first of them is handed out. */
const PAGE = 64 * 1024;

export function exportSession(...given: Parameters<typeof exportPages>): AsyncGenerator<string> {
  return new OneByOne(exportPages(...given));
}

/** The lines by pages, none of them empty. A blob is alone in its page, as several may be too long for a string. */
export async function* exportPages(
  log: EventLog,
  session: string,
  options: ExportOptions = {},
): AsyncGenerator<readonly string[]> {
  check(schema, options, "exportSession", { name: "options", session });
  const { blobs = "inline", store = log.blobs, onLost } = options;
  await checkPosition(log, session);
  const events = await log.revision(session);
  await assertOwnKey(log, session);
  const { forkedFrom } = await readSummary(log, session, events);
  const isInline = blobs === "inline" && store !== undefined;
  const source = isInline && (await refersToBlob(log, session, events)) ? store : undefined;
  const header = headerLine({
    session,
    events,
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
    ...(source === undefined ? {} : { blobs: "inline" }),
  });
  yield [header];
  const relinked = relinkedPlain(log);
  const page: string[] = [];
  let size = 0;
  const turned = (): readonly string[] => {
    size = 0;
    return page.splice(0);
  };
  try {
    for await (const read of pagesOf(log.read(session, { to: events })))
      for (const event of read) {
        if (event.type === "blob.stored" && source !== undefined) {
          if (page.length > 0) yield turned();
          const { sha256 } = event.data;
          const content = await unlessLost(() => readBlob(source, sha256), onLost);
          if (content !== undefined) yield [blobLine({ sha256, content })];
        }
        const line = eventLine(relinked(event));
        page.push(line);
        size += line.length;
        if (size >= PAGE) yield turned();
      }
  } catch (error) {
    // What was read before a fault is handed out before it.
    if (page.length > 0) yield turned();
    throw error;
  }
  if (page.length > 0) yield turned();
}

/** Events that a fork shares are encrypted with the key of their writer, which an import would not use. */
async function assertOwnKey(log: EventLog, session: string): Promise<void> {
  const link = await linkOf(log, session);
  if (link === undefined) return;
  for await (const event of log.read(session, { to: link.position })) {
    if (!isEncrypted(event)) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} shares its events up to ${link.position} with ${link.session}, and they are encrypted with the key of that session: an encrypted export could not be read again. Export it in plain text (from the encrypted log, without \`--encrypted\`), or export ${link.session}; or give it its own copy by deleting ${link.session} (\`forks: "copy"\`, \`turnlog delete ${shellWord(link.session)} --forks copy\`) first.`,
      { session, position: event.position, details: { from: link } },
    );
  }
}

/** Undefined for a lost blob that was reported to `onLost`. */
async function unlessLost<Value>(
  read: () => Promise<Value>,
  onLost: ExportOptions["onLost"],
): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    const isLost =
      TurnlogError.isInstance(error) &&
      (error.code === "BLOB_MISSING" || error.code === "BLOB_DAMAGED");
    if (!isLost || onLost === undefined) throw error;
    onLost(error);
    return undefined;
  }
}

/**
 * Copies the blobs of a session to another store and answers their number, for an export with
 * `blobs: "none"`. @throws TurnlogError `BLOB_MISSING`, `BLOB_DAMAGED`, and the errors of `BlobStore.put`
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
