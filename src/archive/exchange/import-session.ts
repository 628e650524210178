/** Imports a session file: checks all of it, then appends the checked events in parts. */

import { check, code, flag, implementation, name, optionsOf } from "../../validation/index.ts";
import { asEncrypted, type LogInFolder } from "../../store/encryption/index.ts";
import {
  TurnlogError,
  type BlobStore,
  type EventLog,
  type SessionEvent,
} from "../../events/index.ts";
import { appendFile, type Imported } from "./import-append.ts";
import { CheckedFile, invalid, type ImportOptions, type Lines } from "./file-reader.ts";

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
  const { blobs: _, blobsFrom: __, ...options } = given;
  await using file = await CheckedFile.of(lines, options, folderOf(log));
  return await importChecked(log, file, given);
}

/** Imports a file that was checked. @throws TurnlogError as {@link importSession} */
export async function importChecked(
  log: EventLog,
  file: CheckedFile,
  { blobs = log.blobs, blobsFrom, verify = true }: ImportSessionOptions,
): Promise<Imported> {
  const { session, blobs: needed } = file.found;
  const held: Disposable[] = [];
  try {
    for (const { data } of needed) assertPlain(log, data.sha256);
    if (blobs !== undefined) {
      // Blobs that exist already must not be deleted before the session refers to them.
      held.push(blobs.hold(needed.map(({ data }) => data.sha256)));
      for await (const { content } of file.blobs()) held.push(await blobs.put(content));
      await copyMissingBlobs(session, needed, blobs, blobsFrom, verify);
    }
    return await appendFile(log, file);
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
