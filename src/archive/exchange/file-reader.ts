/** Reads and checks the lines of an exported session, once with its events and once in parts. */

import { check, code, flag, name, optionsOf } from "../../validation/index.ts";
import { isEncrypted, decryptedEvent } from "../../store/encryption/index.ts";
import {
  isBlobLine,
  parseBlobLine,
  parseEventLine,
  parseHeaderLine,
  assertAppendable,
  parseSessionId,
  TextHash,
  TurnlogError,
  type FileBlob,
  type FixtureNote,
  type SessionEvent,
} from "../../events/index.ts";
import { isDue, type SessionState } from "../../state/index.ts";
import { Inspection } from "../verify/index.ts";

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
  const digest = new TextHash();
  let header: ReturnType<typeof parseHeaderLine> | undefined;
  let session = "";
  let events = 0;
  let hasEncrypted = false;
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
    // All that the log would check of an event is checked now, as it will not look at it again.
    if (event.type === "unknown")
      assertAppendable(session, event.position, event, { origin: "copied" });
    digest.take(line);
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
    if (!verify) return;
    const findings = inspection.check(checked);
    if (findings.length > 0) assertLawful(session, findings);
    const { state } = inspection;
    if (isDue(event, state, states.at(-1)?.position ?? 0)) states.push(state);
  };
  for await (const several of together(lines)) {
    for (const line of several) {
      const taken = take(line);
      if (taken !== undefined) await taken;
    }
  }
  if (header === undefined) throw invalid(session, "it is empty");
  if (header.events !== events)
    throw invalid(session, `it has ${events} events, and its header says ${header.events}`);
  if (verify) assertLawful(session, inspection.end());
  const { fixture } = header;
  const found = { session, events, hasEncrypted, blobs, states, digest: digest.digest() };
  return { ...found, ...(fixture === undefined ? {} : { fixture }) };
}

/** The events of a checked file in parts. @throws TurnlogError `INVALID_INPUT` if the file changed since */
export async function* eventsAgain(
  { session, events, digest }: CheckedFile,
  lines: Lines,
): AsyncGenerator<readonly SessionEvent[]> {
  const again = new TextHash();
  let part: SessionEvent[] = [];
  let size = 0;
  let position = 0;
  let isHeader = true;
  for await (const several of together(lines)) {
    for (const line of several) {
      if (isBlank(line)) continue;
      const isEvent = !isHeader && !isBlobLine(line);
      isHeader = false;
      if (!isEvent) continue;
      again.take(line);
      part.push(parseEventLine(line, { session, position: ++position }));
      size += line.length;
      if (part.length < EVENTS_PER_PART && size < PART_SIZE) continue;
      yield part;
      part = [];
      size = 0;
    }
  }
  if (position !== events || again.digest() !== digest)
    throw invalid(session, "it was changed while it was read. Import it again");
  if (part.length > 0) yield part;
}

/** Lines that need no waiting for come many at once: a promise for each costs as much as reading it. */
function* inPages(lines: Iterable<string>): Generator<readonly string[]> {
  let page: string[] = [];
  let size = 0;
  for (const line of lines) {
    page.push(line);
    size += line.length;
    if (page.length < EVENTS_PER_PART && size < PART_SIZE) continue;
    yield page;
    page = [];
    size = 0;
  }
  yield page;
}

async function* oneByOne(lines: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  for await (const line of lines) yield [line];
}

function together(lines: Lines): Iterable<readonly string[]> | AsyncIterable<readonly string[]> {
  return Symbol.iterator in lines ? inPages(lines) : oneByOne(lines);
}

function isBlank(line: string): boolean {
  return !line.startsWith("{") && line.trim() === "";
}

export function* partsOf(events: readonly SessionEvent[]): Generator<readonly SessionEvent[]> {
  for (let from = 0; from < events.length; from += EVENTS_PER_PART)
    yield events.slice(from, from + EVENTS_PER_PART);
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
