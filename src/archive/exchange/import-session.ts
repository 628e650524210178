/** Imports a session file: checks all of it, then appends the checked events in parts. */

import { check, code, flag, implementation, name, optionsOf } from "../../validation/index.ts";
import {
  asEncrypted,
  type LogInFolder,
  isEncrypted,
  type EncryptedLog,
} from "../../store/encryption/index.ts";
import {
  TurnlogError,
  type BlobStore,
  type EventLog,
  type SessionEvent,
  appendParts,
  type AppendOptions,
  digestIn,
  HashChain,
  isEncryptedInLog,
  type ChainLink,
} from "../../events/index.ts";
import { CheckedFile, invalid, type ImportOptions, type Lines, partsOf } from "./file-reader.ts";
import {
  foldedStates,
  initialSessionState,
  keepStates,
  nothingKept,
  type SessionState,
} from "../../state/index.ts";

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

// Appends the events of a checked session file, in parts that become visible together.

export interface Imported {
  readonly session: string;
  readonly events: number;
}

/** Appends a checked file. @throws TurnlogError as `importSession` */
async function appendFile(log: EventLog, file: CheckedFile): Promise<Imported> {
  // The log need not repeat these checks.
  return await append(log, file.found, file.parts(), "recorded");
}

export async function appendImported(
  log: EventLog,
  session: string,
  events: readonly SessionEvent[],
): Promise<Imported> {
  const hasEncrypted = events.some(isEncrypted);
  const { due: states } = await foldedStates(initialSessionState, hasEncrypted ? [] : events);
  const file = { session, events: events.length, hasEncrypted, states };
  return await append(log, file, partsOf(events), "copied");
}

async function append(
  log: EventLog,
  {
    session,
    events: count,
    hasEncrypted,
    states,
  }: Pick<CheckedFile["found"], "session" | "events" | "hasEncrypted" | "states">,
  parts: Iterable<readonly SessionEvent[]> | AsyncIterable<readonly SessionEvent[]>,
  origin: AppendOptions["origin"] & string,
): Promise<Imported> {
  const encrypted = asEncrypted(log);
  // Encrypted events are stored unchanged and read with the key that they had.
  const target = hasEncrypted ? (encrypted?.stored ?? log) : log;
  const relink = hasEncrypted ? undefined : await relinkedFor(log, session);
  const stored = async function* (): AsyncGenerator<readonly SessionEvent[]> {
    for await (const part of parts) {
      if (hasEncrypted) await assertDecrypts(encrypted, session, part);
      yield relink === undefined ? part : part.map(relink);
    }
  };
  try {
    await appendParts(target, session, stored(), { origin });
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "REVISION_CONFLICT") throw error;
    throw new TurnlogError(
      "REVISION_CONFLICT",
      `A session ${session} already exists. Nothing was imported. Import it under another name (\`as\`, \`--id\`).`,
      { session, cause: error },
    );
  }
  // States of encrypted content lack it.
  if (!hasEncrypted) await saveSnapshots(log, session, states);
  return { session, events: count };
}

/** Saves the snapshots that a live session of this length would have. */
async function saveSnapshots(
  log: EventLog,
  session: string,
  states: readonly SessionState[],
): Promise<void> {
  try {
    await keepStates(log, session, states, nothingKept);
  } catch (cause) {
    // The import succeeded; opening the session saves the missing snapshots.
    const what = `A snapshot of session ${session} could not be stored; the session is imported but opens more slowly next time.`;
    process.emitWarning(new TurnlogError("LOG_FAILED", what, { session, cause }));
  }
}

/** Refuses events that the key of the session does not decrypt, as those that a fork shared. */
async function assertDecrypts(
  log: EncryptedLog | undefined,
  session: string,
  events: readonly SessionEvent[],
): Promise<void> {
  try {
    await log?.assertDecryptable(session, events);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "KEY_WRONG") throw error;
    const { position } = error;
    throw new TurnlogError(
      "KEY_WRONG",
      `The file cannot be imported: the event at ${position} was not encrypted with the present key of ${session}. Nothing was imported. Give the keys that it was written with. A fork shares events that are encrypted with the key of another session: export it in plain text.`,
      { session, ...(position === undefined ? {} : { position }), cause: error },
    );
  }
}

// Recomputes the links of a hash chain when an export or import changes stored bytes, which the chain covers:
// they differ between an encrypted and a plain log.

/** Takes the events in order and answers each with its new link. */
type Relinking = (event: SessionEvent) => SessionEvent;

/** For an export in plain text. A broken link stays broken. */
export function relinkedPlain(log: EventLog): Relinking {
  if (asEncrypted(log) === undefined) return (event) => event;
  const [stored, plain] = [new HashChain(), new HashChain()];
  return (event) => {
    // A copy has no stored form, so its digest covers the plain text.
    const copy = isEncryptedInLog(event) ? { ...event } : event;
    const holds = isLink(event) && stored.digest(event) === digestIn(event);
    const relinked = holds && isLink(copy) ? withDigest(copy, plain.digest(copy)) : copy;
    stored.take(event);
    plain.take(relinked);
    return relinked;
  };
}

/** For an import into a log that may encrypt; undefined for one that does not. */
async function relinkedFor(log: EventLog, session: string): Promise<Relinking | undefined> {
  const encrypt = await asEncrypted(log)?.encryptor(session);
  if (encrypt === undefined) return undefined;
  const chain = new HashChain();
  return (event) => {
    encrypt(event);
    const relinked = isLink(event) ? withDigest(event, chain.digest(event)) : event;
    encrypt(relinked);
    chain.take(relinked);
    return relinked;
  };
}

function isLink(event: SessionEvent): event is ChainLink {
  return digestIn(event) !== undefined;
}

function withDigest(link: ChainLink, digest: string): SessionEvent {
  return link.type === "session.chained"
    ? { ...link, data: { ...link.data, digest } }
    : { ...link, data: { ...link.data, digest } };
}
