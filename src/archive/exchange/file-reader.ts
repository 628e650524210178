/**
 * Reads and checks the lines of an exported session. Each line is read once, and its checked content is kept in a
 * short form.
 */

import { check, code, flag, name, optionsOf } from "../../validation/index.ts";
import { isEncrypted, decryptedEvent } from "../../store/encryption/index.ts";
import { encodedRows, eventsOfRows } from "../../store/event-rows/index.ts";
import {
  blobLine,
  createCodec,
  digestIn,
  eventLine,
  headerLine,
  isBlobLine,
  parseBlobLine,
  parseEventLine,
  parseHeaderLine,
  assertAppendable,
  parseSessionId,
  TurnlogError,
  type FileBlob,
  type FixtureNote,
  type SessionEvent,
} from "../../events/index.ts";
import { pagesOf } from "../../shared/index.ts";
import { isDue, type SessionState } from "../../state/index.ts";
import { chainCheck, Inspection } from "../verify/index.ts";
import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface ImportOptions {
  /** The name of the imported session. Default: its name in the file. */
  readonly as?: string;
  /** Refuse a session that breaks a law, or that lacks blobs. Default: true. */
  readonly verify?: boolean;
  /** Called for each blob in the file, after its digest was checked. */
  readonly onBlob?: (blob: FileBlob) => Promise<void>;
}

export interface SessionFile {
  readonly session: string;
  readonly events: readonly SessionEvent[];
  readonly fixture?: FixtureNote;
}

interface Checked extends Omit<SessionFile, "events"> {
  readonly events: number;
  readonly hasEncrypted: boolean;
  readonly blobs: readonly SessionEvent<"blob.stored">[];
  /** States on the way to store as snapshots; none if the laws were not checked. */
  readonly states: readonly SessionState[];
  /** It has a hash chain that remains to be checked: most sessions have none, and making its text takes long. */
  readonly isChained: boolean;
}

export type Lines = Iterable<string> | AsyncIterable<string>;

/** Limits of one part, which the log writes before it takes the next: events, and approximate characters. */
const EVENTS_PER_PART = 2048;
const PART_SIZE = 512 * 1024;

const readSchema = optionsOf<ImportOptions>({ as: name, verify: flag, onBlob: code }, {});
export async function readSessionFile(
  lines: Lines,
  options: ImportOptions = {},
): Promise<SessionFile> {
  check(readSchema, options, "readSessionFile", { name: "options" });
  const events: SessionEvent[] = [];
  const found = await checkLines(lines, options, (event) => void events.push(event));
  const { session, fixture } = found;
  if (found.isChained) await assertChained(session, [events]);
  return { session, events, ...(fixture === undefined ? {} : { fixture }) };
}

const codec = createCodec();

/** A session file that was checked. Its events and blobs are spooled, not in memory. */
export class CheckedFile implements AsyncDisposable {
  readonly found: Checked;
  readonly #rows: Spool;
  readonly #blobs: Spool;

  private constructor(found: Checked, rows: Spool, blobs: Spool) {
    this.found = found;
    this.#rows = rows;
    this.#blobs = blobs;
  }

  /**
   * Checks a file as {@link readSessionFile} does. @param dir - The folder for temporary files
   * @throws TurnlogError as {@link readSessionFile}
   */
  static async of(
    lines: Lines,
    options: Omit<ImportOptions, "onBlob">,
    dir?: string,
  ): Promise<CheckedFile> {
    const [rows, blobs] = [new Spool(dir), new Spool(dir)];
    let part: SessionEvent[] = [];
    let size = 0;
    let position = 0;
    const spool = async (session: string): Promise<void> => {
      const page = encodedRows(codec, session, position, part).map(({ row }) => row);
      position += part.length;
      part = [];
      size = 0;
      await rows.add(page.join("\n"));
    };
    const onEvent: OnEvent = (event, line, session) => {
      part.push(event);
      size += line.length;
      return part.length < EVENTS_PER_PART && size < PART_SIZE ? undefined : spool(session);
    };
    try {
      const onBlob = async (blob: FileBlob): Promise<void> => await blobs.add(blobLine(blob));
      const found = await checkLines(lines, { ...options, onBlob }, onEvent);
      if (part.length > 0) await spool(found.session);
      const file = new CheckedFile(found, rows, blobs);
      if (found.isChained) await assertChained(found.session, file.parts());
      return file;
    } catch (error) {
      await closed(rows, blobs);
      throw error;
    }
  }

  /** The events, in parts. */
  async *parts(): AsyncGenerator<readonly SessionEvent[]> {
    const { session } = this.found;
    let position = 0;
    for await (const page of this.#rows.pages()) {
      const part = eventsOfRows(codec, session, position, page.split("\n"));
      position += part.length;
      yield part;
    }
  }

  async *blobs(): AsyncGenerator<FileBlob> {
    for await (const line of this.#blobs.pages()) yield parseBlobLine(line);
  }

  /** The file again: its blobs come before all events. */
  async *lines(): AsyncGenerator<string> {
    const { session, events, fixture } = this.found;
    yield headerLine({ session, events, ...(fixture === undefined ? {} : { fixture }) });
    yield* this.#blobs.pages();
    for await (const part of this.parts()) for (const event of part) yield eventLine(event);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closed(this.#rows, this.#blobs);
  }
}

async function closed(...spools: readonly Spool[]): Promise<void> {
  for (const spool of spools) await spool[Symbol.asyncDispose]();
}

/** Called for each event that was checked. */
type OnEvent = (event: SessionEvent, line: string, session: string) => void | Promise<void>;

async function checkLines(
  lines: Lines,
  { as, verify = true, onBlob }: ImportOptions,
  onEvent: OnEvent,
): Promise<Checked> {
  // A text is iterable too, by its characters.
  if (typeof lines === "string")
    throw invalid("", 'a text was given in place of its lines. Split it: `text.split("\\n")`');
  const inspection = new Inspection();
  const blobs: SessionEvent<"blob.stored">[] = [];
  const states: SessionState[] = [];
  let header: ReturnType<typeof parseHeaderLine> | undefined;
  let session = "";
  let events = 0;
  let hasEncrypted = false;
  let isChained = false;
  const take = (line: string): void | Promise<void> => {
    if (isBlank(line)) return;
    if (header === undefined) {
      header = parseHeaderLine(line);
      session = parseSessionId(as ?? header.session);
      return;
    }
    if (isBlobLine(line)) {
      const blob = parseBlobLine(line);
      return onBlob?.(blob);
    }
    const event = parseEventLine(line, { session, position: events + 1 });
    // Everything that the log would check in an event is checked now, since the log will not check it again.
    if (event.type === "unknown")
      assertAppendable(session, event.position, event, { origin: "copied" });
    const isPlain = !isEncrypted(event);
    // The key belongs to the name of the session.
    if (!isPlain && session !== header.session)
      throw invalid(session, `it is encrypted and must keep its name, ${header.session}`);
    events++;
    hasEncrypted ||= !isPlain;
    if (event.type === "blob.stored") blobs.push(event);
    if (verify) {
      // Encrypted content is checked like redacted content.
      const checked = isPlain ? event : (decryptedEvent(event, undefined) ?? event);
      const findings = inspection.check(checked);
      if (findings.length > 0) assertLawful(session, findings);
      isChained ||= digestIn(event) !== undefined;
      if (isDue(event, states.at(-1)?.position ?? 0)) states.push(inspection.state);
    }
    return onEvent(event, line, session);
  };
  for await (const page of pagesOf(lines)) {
    for (const line of page) {
      const taken = take(line);
      if (taken !== undefined) await taken;
    }
  }
  if (header === undefined) throw invalid(session, "it is empty");
  if (header.events !== events)
    throw invalid(session, `it has ${events} events, but its header says ${header.events}`);
  if (verify) assertLawful(session, inspection.end());
  const { fixture } = header;
  const found = { session, events, hasEncrypted, blobs, states, isChained };
  return { ...found, ...(fixture === undefined ? {} : { fixture }) };
}

function isBlank(line: string): boolean {
  return !line.startsWith("{") && line.trim() === "";
}

export function* partsOf(events: readonly SessionEvent[]): Generator<readonly SessionEvent[]> {
  for (let from = 0; from < events.length; from += EVENTS_PER_PART)
    yield events.slice(from, from + EVENTS_PER_PART);
}

async function assertChained(
  session: string,
  parts: Iterable<readonly SessionEvent[]> | AsyncIterable<readonly SessionEvent[]>,
): Promise<void> {
  const chain = chainCheck();
  for await (const part of parts) {
    for (const event of part) {
      const [what] = chain.onEvent(event);
      if (what === undefined) continue;
      assertLawful(session, [{ position: event.position, rule: "chain", what }]);
    }
  }
}

function assertLawful(session: string, findings: ReturnType<Inspection["end"]>): void {
  // Prompts replace content that they cannot contain, and calls of one id are read as they were: both can continue.
  const finding = findings.find(({ rule }) => rule !== "contents" && rule !== "identity");
  if (finding === undefined) return;
  const { position, rule, what } = finding;
  throw new TurnlogError(
    "EVENT_INVALID",
    `The file breaks a law at ${position} (${rule}): ${what}. Nothing was imported. To import it anyway, skip the check of the laws (\`verify: false\`, \`--no-verify\`).`,
    { session, position },
  );
}

export function invalid(session: string, why: string): TurnlogError {
  const what = `The file cannot be imported: ${why}. Nothing was imported.`;
  return new TurnlogError("INVALID_INPUT", what, session === "" ? {} : { session });
}

// Keeps pages of text that are read again later: in memory while they are small, then in an unlinked file that ends
// with the process. Encrypted with a key in memory: plain text of an encrypted store must not reach the disk.

/** Characters in memory. */
const MOST_WAITING = 1024 * 1024;
const CIPHER = "aes-256-ctr";

class Spool implements AsyncDisposable {
  readonly #dir: string;
  readonly #key = randomBytes(32);
  readonly #vector = randomBytes(16);
  readonly #cipher = createCipheriv(CIPHER, this.#key, this.#vector);
  #file: FileHandle | undefined;
  /** Bytes of each page in the file. */
  readonly #written: number[] = [];
  /** The pages behind those. */
  #waiting: string[] = [];
  #size = 0;

  /** @param dir - The folder of the store. Default: the folder for temporary files. */
  constructor(dir: string = tmpdir()) {
    this.#dir = dir;
  }

  /** Adds a page of well-formed text. Resolves when there is room for the next. */
  async add(page: string): Promise<void> {
    this.#waiting.push(page);
    this.#size += page.length;
    if (this.#size < MOST_WAITING) return;
    const pages = this.#waiting.map((text) => Buffer.from(text));
    this.#waiting = [];
    this.#size = 0;
    this.#file ??= await openUnlinked(this.#dir);
    for (const bytes of pages) {
      await this.#file.writeFile(this.#cipher.update(bytes));
      this.#written.push(bytes.length);
    }
  }

  /** The pages in order; they can be read any number of times. */
  async *pages(): AsyncGenerator<string> {
    const decipher = createDecipheriv(CIPHER, this.#key, this.#vector);
    let position = 0;
    for (const length of this.#written) {
      const bytes = Buffer.alloc(length);
      for (let read = 0; read < length;) {
        const { bytesRead = 0 } =
          (await this.#file?.read(bytes, read, length - read, position + read)) ?? {};
        if (bytesRead === 0) throw new Error("A temporary file of the import was cut off.");
        read += bytesRead;
      }
      position += length;
      yield decipher.update(bytes).toString();
    }
    yield* this.#waiting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }
}

async function openUnlinked(dir: string): Promise<FileHandle> {
  const path = join(dir, `import-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  return file;
}
