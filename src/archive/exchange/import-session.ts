/** Brings sessions into a log from outside: checked as a whole first, then read again and appended in parts, of which nobody sees any before the last. */

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
import { EVENTS_PER_SNAPSHOT, keepFolded } from "../../state/index.ts";
import { Inspection } from "../verify/index.ts";
import { relinkedFor } from "./relinked.ts";
import { Spool } from "./spool.ts";

/** How a session is taken in. */
export interface ImportOptions {
  /** The name of the session. Default: the one that it had. */
  readonly as?: string;
  /** Whether a session that breaks a law is refused, or one whose blobs are not there. Default true. */
  readonly verify?: boolean;
  /** Told of each blob in the file, whose bytes have been checked. */
  readonly onBlob?: (blob: FileBlob) => Promise<void>;
}

/** How a session is taken in, and where its blobs go. */
export interface ImportSessionOptions extends Omit<ImportOptions, "onBlob"> {
  /** Where the session's blobs are stored. Default: those of the log. */
  readonly blobs?: BlobStore;
  /** Where blobs lie that are not in the file. */
  readonly blobsFrom?: BlobStore;
}

/** A session that was read and checked and is in no log yet. */
export interface SessionFile {
  readonly session: string;
  readonly events: readonly SessionEvent[];
  /** Present where it is not the session itself, but a fixture made of it. */
  readonly fixture?: FixtureNote;
}

/** A file that was checked, to be read again. */
export interface CheckedFile extends Omit<SessionFile, "events"> {
  readonly events: number;
  /** Whether events of it are encrypted. */
  readonly sealed: boolean;
  /** The events that bring its blobs along. */
  readonly blobs: readonly SessionEvent<"blob.stored">[];
  /** Over the lines of its events: what is read again is what was checked. */
  readonly digest: string;
}

type Lines = Iterable<string> | AsyncIterable<string>;

/** What is in the log now. */
export interface Imported {
  readonly session: string;
  readonly events: number;
}

/** How many events are appended at once, and about how many characters. */
const EVENTS_PER_PART = 512;
const PART_SIZE = 512 * 1024;

const blobStore = implementation({ get: code, put: code });
const readSchema = optionsOf<ImportOptions>({ as: name, verify: flag, onBlob: code }, {});
const importSchema = optionsOf<ImportSessionOptions>(
  { as: name, verify: flag, blobs: blobStore, blobsFrom: blobStore },
  {},
);

/**
 * Reads the lines of an exported session, to the last one, and checks everything: header, sequence,
 * schemas, the number of events, and the laws ({@link verifySession} has them).
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

/** The same without the events, however many: what is needed to read the file again. */
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
  const digest = createHash("sha256");
  let header: ReturnType<typeof parseHeaderLine> | undefined;
  let session = "";
  let events = 0;
  let sealed = false;
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
    const isOpen = !isEncrypted(event);
    // Its key is kept under the name that it has.
    if (!isOpen && session !== header.session)
      throw invalid(session, `it is encrypted, and can only be ${header.session} again`);
    events++;
    sealed ||= !isOpen;
    if (event.type === "blob.stored") blobs.push(event);
    onEvent(event);
    // What is encrypted is checked as if it had been redacted.
    const told = isOpen ? event : (decryptedEvent(event, undefined) ?? event);
    if (verify) assertLawful(session, inspection.check(told));
  }
  if (header === undefined) throw invalid(session, "it is empty");
  if (header.events !== events)
    throw invalid(session, `it has ${events} events, and its header says ${header.events}`);
  if (verify) assertLawful(session, inspection.end());
  const { fixture } = header;
  const found = { session, events, sealed, blobs, digest: digest.digest("hex") };
  return { ...found, ...(fixture === undefined ? {} : { fixture }) };
}

/**
 * Imports an exported session: all of it, or nothing. Nothing is written before the last line was
 * checked; then the lines are read again, and the session is there when the last event is written.
 * Lines that are no array are kept in an encrypted file meanwhile.
 * @throws TurnlogError as {@link readSessionFile} and `EventLog.append`; `REVISION_CONFLICT` when
 * there is a session of this name; `KEY_WRONG` for sealed events that its key does not open, where it is at hand
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

/** The same of lines that can be read twice: they are asked for each time. */
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
      // Those that are there already must not go before the session has them.
      held.push(blobs.hold(file.blobs.map(({ data }) => data.sha256)));
      const isNeeded = options.verify ?? true;
      await haveBlobs(file.session, file.blobs, blobs, blobsFrom, isNeeded);
    }
    return await appendFile(log, file, read());
  } finally {
    for (const blob of held) blob[Symbol.dispose]();
  }
}

/** Appends a file that was checked, by its lines once more. @throws TurnlogError as {@link importSession} */
export async function appendFile(
  log: EventLog,
  file: CheckedFile,
  lines: Lines,
): Promise<Imported> {
  return await append(log, file, eventsAgain(file, lines));
}

/** The events of a file that has been checked, which must be what it was. */
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

/** Blobs are not encrypted: of a session that is to be, they must not come to the disk. */
function assertPlain(log: EventLog, sha256: string): void {
  if (asEncrypted(log)?.encrypts !== true) return;
  throw invalid(
    "",
    `blob ${sha256} of the session would lie beside its log and not be encrypted. Import it without keys`,
  );
}

/** The blobs of an imported session that are not in the store yet, taken from where they lie. All are held. */
async function haveBlobs(
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
        `Blob ${sha256} of the session is neither in the file nor in the store. Nothing was imported. Name the folder in which its blobs lie (\`blobsFrom\`, \`--blobs\`), or import it without (\`verify: false\`, \`--no-verify\`).`,
        { session, position, details: { sha256 } },
      );
    }
  }
}

/** Appends a whole session that is not in the log yet. */
export async function appendImported(
  log: EventLog,
  session: string,
  events: readonly SessionEvent[],
): Promise<Imported> {
  const sealed = events.some(isEncrypted);
  const file = { session, events: events.length, sealed };
  return await append(log, file, partsOf(events));
}

async function append(
  log: EventLog,
  { session, events: count, sealed }: Pick<CheckedFile, "session" | "events" | "sealed">,
  parts: Iterable<readonly SessionEvent[]> | AsyncIterable<readonly SessionEvent[]>,
): Promise<Imported> {
  const encrypted = asEncrypted(log);
  // What is sealed is stored as it was, and read with the key that it had.
  const target = sealed ? (encrypted?.stored ?? log) : log;
  const relink = sealed ? undefined : await relinkedFor(log, session);
  const stored = async function* (): AsyncGenerator<readonly SessionEvent[]> {
    for await (const part of parts) {
      if (sealed) await assertOpens(encrypted, session, part);
      yield relink === undefined ? part : part.map(relink);
    }
  };
  try {
    await appendParts(target, session, stored(), { origin: "copied" });
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "REVISION_CONFLICT") throw error;
    throw new TurnlogError(
      "REVISION_CONFLICT",
      `There is a session ${session} already, and nothing was imported. Import it under another name (\`as\`, \`--as\`).`,
      { session, cause: error },
    );
  }
  if (!sealed && count >= EVENTS_PER_SNAPSHOT) await keepImported(log, session);
  return { session, events: count };
}

/** A long session is kept as one is that was recorded here, so that looking back into it is as quick. */
async function keepImported(log: EventLog, session: string): Promise<void> {
  try {
    await keepFolded(log, session, log.read(session));
  } catch (cause) {
    // The session is there: whoever opens it keeps what is missing.
    const what = `A snapshot of session ${session} could not be stored; it is imported, and opens more slowly next time.`;
    process.emitWarning(new TurnlogError("LOG_FAILED", what, { session, cause }));
  }
}

/** What a fork shared is sealed with the key of the session that wrote it: nobody would ever read it here. */
async function assertOpens(
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
      `The file cannot be imported: what it has at ${position} was not sealed with the key of ${session} that is at hand. Nothing was imported. Give the keys that it was written with; what a fork shares is sealed with those of another session, so a fork has to be exported in plain text.`,
      { session, ...(position === undefined ? {} : { position }), cause: error },
    );
  }
}

function invalid(session: string, why: string): TurnlogError {
  const what = `The file cannot be imported: ${why}. Nothing was imported.`;
  return new TurnlogError("INVALID_INPUT", what, session === "" ? {} : { session });
}

function assertLawful(session: string, findings: ReturnType<Inspection["end"]>): void {
  // What no prompt can contain is shown in other words: the session goes on as it did where it comes from.
  const finding = findings.find(({ rule }) => rule !== "contents");
  if (finding === undefined) return;
  const { position, rule, what } = finding;
  throw new TurnlogError(
    "EVENT_INVALID",
    `The file breaks a law at ${position} (${rule}): ${what}. Nothing was imported. To look at it all the same, import it without checking the laws (\`verify: false\`, \`--no-verify\`).`,
    { session, position },
  );
}
