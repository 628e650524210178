/** Imports a session file into a log: checks all of it first, then reads it again and appends it in parts that become visible together. */

import { createHash } from "node:crypto";
import { check, code, flag, implementation, name, optionsOf } from "../../validation/index.ts";
import {
  asEncrypted,
  isEncrypted,
  decryptedEvent,
  type EncryptedLog,
  type LogWithBlobs,
} from "../../store/encryption/index.ts";
import {
  appendParts,
  isBlobLine,
  parseBlobLine,
  parseEventLine,
  parseHeaderLine,
  parseSessionId,
  TurnlogError,
  type BlobStore,
  type EventLog,
  type FileBlob,
  type FixtureNote,
  type SessionEvent,
} from "../../events/index.ts";
import { blobsOf } from "../../media/index.ts";
import {
  foldedStates,
  initialSessionState,
  isDue,
  keepStates,
  nothingKept,
  type SessionState,
} from "../../state/index.ts";
import { Inspection } from "../verify/index.ts";
import { relinkedFor } from "./relinked.ts";
import { Spool } from "./spool.ts";

/** Options for reading a session file. */
export interface ImportOptions {
  /** The name of the imported session. Default: its name in the file. */
  readonly as?: string;
  /** Refuse a session that breaks a law, or that lacks blobs. Default: true. */
  readonly verify?: boolean;
  /** Called for each blob in the file, after its digest was checked. */
  readonly onBlob?: (blob: FileBlob) => Promise<void>;
}

/** Options of {@link importSession}. */
export interface ImportSessionOptions extends Omit<ImportOptions, "onBlob"> {
  /** The store for the blobs. Default: that of the log. */
  readonly blobs?: BlobStore;
  /** The store to copy blobs from that are not in the file. */
  readonly blobsFrom?: BlobStore;
}

/** A checked session file with its events. */
export interface SessionFile {
  readonly session: string;
  readonly events: readonly SessionEvent[];
  /** Present if the file is a fixture. */
  readonly fixture?: FixtureNote;
}

/** A checked session file without its events, to be read again. */
export interface CheckedFile extends Omit<SessionFile, "events"> {
  readonly events: number;
  readonly hasEncrypted: boolean;
  readonly blobs: readonly SessionEvent<"blob.stored">[];
  /** States on the way to store as snapshots; none if the laws were not checked. */
  readonly states: readonly SessionState[];
  /** Digest of the lines of its events, to detect a change between the two readings. */
  readonly digest: string;
}

type Lines = Iterable<string> | AsyncIterable<string>;

/** Result of an import. */
export interface Imported {
  readonly session: string;
  readonly events: number;
}

/** Limits of one append: events, and approximate characters. */
const EVENTS_PER_PART = 512;
const PART_SIZE = 512 * 1024;

const blobStore = implementation({ get: code, put: code });
const readSchema = optionsOf<ImportOptions>({ as: name, verify: flag, onBlob: code }, {});
const importSchema = optionsOf<ImportSessionOptions>(
  { as: name, verify: flag, blobs: blobStore, blobsFrom: blobStore },
  {},
);

/**
 * Reads all lines of an exported session and checks header, sequence, schemas, the number of events,
 * and the laws (see {@link verifySession}).
 * @throws TurnlogError `INVALID_INPUT`, `EVENT_INVALID`, `EVENT_TOO_NEW`, with the position
 */
export async function readSessionFile(
  lines: Lines,
  options: ImportOptions = {},
): Promise<SessionFile> {
  check(readSchema, options, "readSessionFile", { name: "options" });
  const events: SessionEvent[] = [];
  const { session, fixture } = await checkLines(lines, options, (event) => events.push(event));
  return { session, events, ...(fixture === undefined ? {} : { fixture }) };
}

/** Checks a file as {@link readSessionFile} does, without keeping its events in memory. */
export async function checkSessionFile(
  lines: Lines,
  options: ImportOptions = {},
): Promise<CheckedFile> {
  return await checkLines(lines, options, () => {});
}

async function checkLines(
  lines: Lines,
  { as, verify = true, onBlob }: ImportOptions,
  onEvent: (event: SessionEvent) => void,
): Promise<CheckedFile> {
  const inspection = new Inspection();
  const blobs: SessionEvent<"blob.stored">[] = [];
  const states: SessionState[] = [];
  const digest = createHash("sha256");
  let header: ReturnType<typeof parseHeaderLine> | undefined;
  let session = "";
  let events = 0;
  let hasEncrypted = false;
  for await (const line of lines) {
    if (line.trim() === "") continue;
    if (header !== undefined && isBlobLine(line)) {
      const blob = parseBlobLine(line);
      if (onBlob !== undefined) await onBlob(blob);
      continue;
    }
    if (header === undefined) {
      header = parseHeaderLine(line);
      session = parseSessionId(as ?? header.session);
      continue;
    }
    const event = parseEventLine(line, { session, position: events + 1 });
    digest.update(line);
    const isPlain = !isEncrypted(event);
    // The key belongs to the name of the session.
    if (!isPlain && session !== header.session)
      throw invalid(session, `it is encrypted and must keep its name, ${header.session}`);
    events++;
    hasEncrypted ||= !isPlain;
    if (event.type === "blob.stored") blobs.push(event);
    onEvent(event);
    // Encrypted content is checked like redacted content.
    const checked = isPlain ? event : (decryptedEvent(event, undefined) ?? event);
    if (!verify) continue;
    assertLawful(session, inspection.check(checked));
    const { state } = inspection;
    if (isDue(event, state, states.at(-1)?.position ?? 0)) states.push(state);
  }
  if (header === undefined) throw invalid(session, "it is empty");
  if (header.events !== events)
    throw invalid(session, `it has ${events} events, and its header says ${header.events}`);
  if (verify) assertLawful(session, inspection.end());
  const { fixture } = header;
  const found = { session, events, hasEncrypted, blobs, states, digest: digest.digest("hex") };
  return { ...found, ...(fixture === undefined ? {} : { fixture }) };
}

/**
 * Imports an exported session completely or not at all. It checks every line before it writes, then
 * reads the lines again; the session becomes visible with its last event. Lines that are not an array
 * are kept in an encrypted temporary file.
 * @throws TurnlogError as {@link readSessionFile} and `EventLog.append`; `REVISION_CONFLICT` if a
 * session of this name exists; `KEY_WRONG` for encrypted events that its key does not decrypt, if the key is present
 */
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

/** Imports like {@link importSession} from lines that `read` gives twice. */
export async function importTwice(
  log: EventLog,
  read: () => Lines,
  { blobs = blobsOf(log), blobsFrom, ...options }: ImportSessionOptions,
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

/** Appends a checked file by reading its lines again. @throws TurnlogError as {@link importSession} */
export async function appendFile(
  log: EventLog,
  file: CheckedFile,
  lines: Lines,
): Promise<Imported> {
  return await append(log, file, eventsAgain(file, lines));
}

/** The events of a checked file in parts. @throws TurnlogError `INVALID_INPUT` if the file changed since */
async function* eventsAgain(
  { session, events, digest }: CheckedFile,
  lines: Lines,
): AsyncGenerator<readonly SessionEvent[]> {
  const again = createHash("sha256");
  let part: SessionEvent[] = [];
  let size = 0;
  let position = 0;
  let isHeader = true;
  for await (const line of lines) {
    if (line.trim() === "") continue;
    const isEvent = !isHeader && !isBlobLine(line);
    isHeader = false;
    if (!isEvent) continue;
    again.update(line);
    part.push(parseEventLine(line, { session, position: ++position }));
    size += line.length;
    if (part.length < EVENTS_PER_PART && size < PART_SIZE) continue;
    yield part;
    part = [];
    size = 0;
  }
  if (position !== events || again.digest("hex") !== digest)
    throw invalid(session, "it was changed while it was read. Import it again");
  if (part.length > 0) yield part;
}

function* partsOf(events: readonly SessionEvent[]): Generator<readonly SessionEvent[]> {
  for (let from = 0; from < events.length; from += EVENTS_PER_PART)
    yield events.slice(from, from + EVENTS_PER_PART);
}

function folderOf(log: EventLog): string | undefined {
  const { dir }: LogWithBlobs = asEncrypted(log)?.stored ?? log;
  return dir;
}

/** Refuses blobs in a log that encrypts: blobs are stored in plain form. */
function assertPlain(log: EventLog, sha256: string): void {
  if (asEncrypted(log)?.encrypts !== true) return;
  throw invalid(
    "",
    `blob ${sha256} of the session would be stored unencrypted. Import it without keys`,
  );
}

/** Copies blobs that the store lacks from `from`. @throws TurnlogError `BLOB_MISSING` if one is required and in neither */
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

/** Appends a new session from its events. */
export async function appendImported(
  log: EventLog,
  session: string,
  events: readonly SessionEvent[],
): Promise<Imported> {
  const hasEncrypted = events.some(isEncrypted);
  const { due: states } = await foldedStates(initialSessionState, hasEncrypted ? [] : events);
  const file = { session, events: events.length, hasEncrypted, states };
  return await append(log, file, partsOf(events));
}

async function append(
  log: EventLog,
  {
    session,
    events: count,
    hasEncrypted,
    states,
  }: Pick<CheckedFile, "session" | "events" | "hasEncrypted" | "states">,
  parts: Iterable<readonly SessionEvent[]> | AsyncIterable<readonly SessionEvent[]>,
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
    await appendParts(target, session, stored(), { origin: "copied" });
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "REVISION_CONFLICT") throw error;
    throw new TurnlogError(
      "REVISION_CONFLICT",
      `A session ${session} exists already. Nothing was imported. Import it under another name (\`as\`, \`--as\`).`,
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
    const what = `A snapshot of session ${session} could not be stored; it is imported, and opens more slowly next time.`;
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

function invalid(session: string, why: string): TurnlogError {
  const what = `The file cannot be imported: ${why}. Nothing was imported.`;
  return new TurnlogError("INVALID_INPUT", what, session === "" ? {} : { session });
}

function assertLawful(session: string, findings: ReturnType<Inspection["end"]>): void {
  // Prompts replace content that they cannot contain, so the session can continue.
  const finding = findings.find(({ rule }) => rule !== "contents");
  if (finding === undefined) return;
  const { position, rule, what } = finding;
  throw new TurnlogError(
    "EVENT_INVALID",
    `The file breaks a law at ${position} (${rule}): ${what}. Nothing was imported. To import it anyway, skip the check of the laws (\`verify: false\`, \`--no-verify\`).`,
    { session, position },
  );
}
