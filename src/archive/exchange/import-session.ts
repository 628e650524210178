/** Imports a session file: checks all of it, then reads it again and appends it in parts. */

import { check, code, flag, implementation, name, optionsOf } from "../../validation/index.ts";
import { asEncrypted, type LogInFolder } from "../../store/encryption/index.ts";
import {
  TurnlogError,
  type BlobStore,
  type EventLog,
  type FileBlob,
  type SessionEvent,
} from "../../events/index.ts";
import { appendFile, type Imported } from "./import-append.ts";
import { checkSessionFile, invalid, type ImportOptions, type Lines } from "./file-reader.ts";
import { Spool } from "./spool.ts";

export interface ImportSessionOptions extends Omit<ImportOptions, "onBlob"> {
  /** The store for the blobs. Default: that of the log. */
  readonly blobs?: BlobStore;
  /** The store to copy blobs from that are not in the file. */
  readonly blobsFrom?: BlobStore;
}

const blobStore = implementation({ get: code, put: code });
const importSchema = optionsOf<ImportSessionOptions>(
  { as: name, verify: flag, blobs: blobStore, blobsFrom: blobStore },
  {},
);

export async function importSession(
  log: EventLog,
  lines: Lines,
  given: ImportSessionOptions = {},
): Promise<Imported> {
  check(importSchema, given, "importSession", { name: "options" });
  const again = (): Lines => lines;
  if (Array.isArray(lines)) return await importTwice(log, again, given);
  await using spool = await Spool.open(folderOf(log));
  return await importTwice(log, () => spool.through(lines), given);
}

export async function importTwice(
  log: EventLog,
  read: () => Lines,
  { blobs = log.blobs, blobsFrom, ...options }: ImportSessionOptions,
): Promise<Imported> {
  const held: Disposable[] = [];
  try {
    const onBlob = async ({ sha256, content }: FileBlob): Promise<void> => {
      assertPlain(log, sha256);
      if (blobs !== undefined) held.push(await blobs.put(content));
    };
    const file = await checkSessionFile(read(), { ...options, onBlob });
    for (const { data } of file.blobs) assertPlain(log, data.sha256);
    if (blobs !== undefined) {
      // Blobs that exist already must not be deleted before the session refers to them.
      held.push(blobs.hold(file.blobs.map(({ data }) => data.sha256)));
      const isNeeded = options.verify ?? true;
      await copyMissingBlobs(file.session, file.blobs, blobs, blobsFrom, isNeeded);
    }
    return await appendFile(log, file, read());
  } finally {
    for (const blob of held) blob[Symbol.dispose]();
  }
}

function folderOf(log: EventLog): string | undefined {
  const { dir }: LogInFolder = asEncrypted(log)?.stored ?? log;
  return dir;
}

/** Blobs are stored in plain form. */
function assertPlain(log: EventLog, sha256: string): void {
  if (asEncrypted(log)?.encrypts !== true) return;
  throw invalid(
    "",
    `blob ${sha256} of the session would be stored unencrypted. Import it without keys`,
  );
}

/** @throws TurnlogError `BLOB_MISSING` if a required blob is in neither store */
async function copyMissingBlobs(
  session: string,
  needed: readonly SessionEvent<"blob.stored">[],
  blobs: BlobStore,
  from: BlobStore | undefined,
  isNeeded: boolean,
): Promise<void> {
  for (const { data, position } of needed) {
    const { sha256 } = data;
    if (from !== undefined && (await from.has(sha256))) {
      using _ = await blobs.put(from.get(sha256));
    } else if (isNeeded && !(await blobs.has(sha256))) {
      throw new TurnlogError(
        "BLOB_MISSING",
        `Blob ${sha256} of the session is neither in the file nor in the store. Nothing was imported. Name the folder of its blobs (\`blobsFrom\`, \`--blobs\`), or import it without (\`verify: false\`, \`--no-verify\`).`,
        { session, position, details: { sha256 } },
      );
    }
  }
}
