/**
 * The lines of an exported session, all JSON: a header, then one event per line. A blob's line comes before the
 * event that first refers to it. Pure.
 */

import { z } from "zod";
import type { SessionEvent } from "../catalogue/catalogue.ts";
import { isAppType } from "../catalogue/app-events.ts";
import { createCodec, type RowKey } from "../rows/codec.ts";
import { TurnlogError, type TurnlogErrorOptions } from "../values/errors.ts";
import { jsonSchema, isNestedDeeper, MOST_LEVELS, type JsonValue } from "../values/json.ts";
import { forkPointSchema, type ForkPoint } from "../catalogue/session-events.ts";
import { storedForm } from "../rows/stored-form.ts";
import { hash } from "node:crypto";
import { digestSchema } from "../values/blob-measures.ts";

/** The first line. A file with fewer events than `events` was cut off. */
export interface SessionFileHeader {
  readonly session: string;
  readonly events: number;
  /** The fork point, if the session was a fork. The file has the shared events too. */
  readonly forkedFrom?: ForkPoint;
  readonly fixture?: FixtureNote;
  readonly blobs?: "inline";
}

export interface FixtureNote {
  /** Names of the rules that removed something. */
  readonly redacted: readonly string[];
}

/** Raised when older releases cannot read the file. 1 and 2 had `seq` and `at`; 2 marked files with blobs. */
const FORMAT = 3;

const headerSchema = z.lazy(() =>
  z.object({
    turnlog: z.literal("session"),
    format: z.int().positive(),
    session: z.string(),
    events: z.int().positive(),
    fixture: z.looseObject({ redacted: z.array(z.string()) }).exactOptional(),
    forkedFrom: forkPointSchema.exactOptional(),
    blobs: z.literal("inline").exactOptional(),
  }),
);

const lineFields = {
  type: z.string(),
  version: z.int().positive(),
  data: jsonSchema,
  id: z.string().exactOptional(),
};

type TextDelta = "part.text-delta" | "part.reasoning-delta";

interface Line {
  readonly position: number;
  readonly time: number;
  readonly type: string;
  readonly version: number;
  readonly data: JsonValue;
  readonly id?: string;
}

const lineSchema: z.ZodType<Line> = z.strictObject({
  position: z.int().positive(),
  time: z.number(),
  ...lineFields,
});

const oldLineSchema = z
  .strictObject({ seq: z.int().positive(), at: z.number(), ...lineFields })
  .transform(({ seq, at, ...fields }) => ({ position: seq, time: at, ...fields }));

const codec = createCodec();

export function headerLine(header: SessionFileHeader): string {
  return JSON.stringify({ turnlog: "session", format: FORMAT, ...header });
}

/** @throws TurnlogError `INVALID_INPUT`, `EVENT_TOO_NEW` */
export function parseHeaderLine(line: string): SessionFileHeader {
  const value = jsonOf(line);
  if (isSessionFile(value)) assertKnownFormat("The file", value, FORMAT, { code: "EVENT_TOO_NEW" });
  const header = headerSchema.safeParse(value);
  if (!header.success) {
    const what = "The first line is not the header of an exported session";
    throw new TurnlogError("INVALID_INPUT", `${what}: ${z.prettifyError(header.error)}`, {
      cause: header.error,
    });
  }
  const { format: _, turnlog: __, ...rest } = header.data;
  return rest;
}

function isSessionFile(value: unknown): boolean {
  return z.looseObject({ turnlog: z.literal("session") }).safeParse(value).success;
}

/** Most lines are deltas of one block and one moment, like the line before: what these have in common is written once. */
const lastDelta = { time: Number.NaN, times: "", type: "", id: "", middle: "" };
/** Text that JSON has as it is. */
const PLAIN = /^[ !#-[\]-\ud7ff]*$/;
const DELTA_FIELDS: readonly string[] = ["id", "text"];

/** The line of a delta of text that has its id and its text, in this order, and nothing else; undefined for any other event. */
function lineOfDelta({ position, time, type, data, id }: SessionEvent): string | undefined {
  if (type !== "part.text-delta" && type !== "part.reasoning-delta") return undefined;
  let fields = 0;
  for (const name in data) if (name !== DELTA_FIELDS[fields++]) return undefined;
  if (fields !== 2 || id !== undefined) return undefined;
  const { id: block, text } = data;
  if (time !== lastDelta.time) Object.assign(lastDelta, { time, times: `,"time":${time}` });
  if (type !== lastDelta.type || block !== lastDelta.id) {
    const middle = `,"type":"${type}","version":1,"data":{"id":${JSON.stringify(block)},"text":`;
    Object.assign(lastDelta, { type, id: block, middle });
  }
  const quoted = PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
  return `{"position":${position}${lastDelta.times}${lastDelta.middle}${quoted}}}`;
}

/** An event as a line, without line end, in its stored form: upcast and unknown events keep theirs. */
export function eventLine(event: SessionEvent): string {
  const delta = lineOfDelta(event);
  if (delta !== undefined) return delta;
  const { position, time, id } = event;
  const { type, version, data } = storedForm(event);
  // By hand, as nearly all lines are short and making an object for each takes longer. Types of ours need no escape.
  const name = event.type === type && !isAppType(type) ? `"${type}"` : JSON.stringify(type);
  const last = id === undefined ? "" : `,"id":${JSON.stringify(id)}`;
  return `{"position":${position},"time":${time},"type":${name},"version":${version},"data":${JSON.stringify(data)}${last}}`;
}

/**
 * The event of a line, upcast to the current version.
 * @throws TurnlogError `INVALID_INPUT` (not the event of this position), `EVENT_INVALID`, `EVENT_TOO_NEW`
 */
export function parseEventLine(line: string, key: RowKey): SessionEvent {
  const delta = plainDelta(line, key.position);
  if (delta !== undefined) return delta;
  const { position, time, type, version, data, id } = checkedLine(jsonOf(line), key);
  if (position !== key.position) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Where event ${key.position} is due, the file has event ${position}: lines are missing or out of order.`,
      { session: key.session, position: key.position },
    );
  }
  const fields = [type, version, time, data] as const;
  return codec.eventOf(id === undefined ? fields : [...fields, id], key);
}

/** A delta of text as `eventLine` writes it, with no quote, backslash or control character: nearly all lines are such deltas. */
const deltaLine =
  /^\{"position":([1-9]\d{0,14}),"time":([1-9]\d{0,14}),"type":"part\.(text|reasoning)-delta","version":1,"data":\{"id":"([ !#-[\]-\uffff]*)","text":"([ !#-[\]-\uffff]*)"\}\}$/;

/** The event of such a line, in half the time that JSON and its checks take; undefined for any other. */
function plainDelta(line: string, expected: number): SessionEvent<TextDelta> | undefined {
  const found = deltaLine.exec(line);
  if (found === null) return undefined;
  const [, place, time, kind, id = "", text = ""] = found;
  const position = Number(place);
  if (position !== expected) return undefined;
  const type = kind === "text" ? "part.text-delta" : "part.reasoning-delta";
  return { position, time: Number(time), type, data: { id, text } };
}

/** The fields of a line of an earlier form. @throws TurnlogError `INVALID_INPUT` for a line that has another */
function checkedLine(value: unknown, { session, position }: RowKey): Line {
  const isOld = typeof value === "object" && value !== null && "seq" in value;
  const parsed = (isOld ? oldLineSchema : lineSchema).safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The line of event ${position} is not an event: ${z.prettifyError(parsed.error)}`,
    { session, position, cause: parsed.error },
  );
}

/** Earlier releases had no limit; every function can still walk this many levels. */
const MOST_IMPORTED_LEVELS = 4 * MOST_LEVELS;

/**
 * Parses a line; undefined if it is not JSON, which every schema refuses.
 * @throws TurnlogError `INVALID_INPUT` for a value that is nested too deeply
 */
function jsonOf(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    // Each level takes two characters.
    if (line.length < 2 * MOST_IMPORTED_LEVELS) return value;
    if (!isNestedDeeper(value, MOST_IMPORTED_LEVELS)) return value;
    throw new TurnlogError(
      "INVALID_INPUT",
      `The file has a value that is nested more than ${MOST_IMPORTED_LEVELS} levels deep. Nothing was imported.`,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const blobLineSchema = z.strictObject({ blob: digestSchema, data: z.string() });

export interface FileBlob {
  readonly sha256: string;
  readonly content: Uint8Array;
}

export function blobLine({ sha256, content }: FileBlob): string {
  const data = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return JSON.stringify({ blob: sha256, data: data.toString("base64") });
}

export function isBlobLine(line: string): boolean {
  return line.startsWith('{"blob":');
}

/** @throws TurnlogError `INVALID_INPUT` (not a blob line), `BLOB_DAMAGED` (the bytes have another digest) */
export function parseBlobLine(line: string): FileBlob {
  const parsed = blobLineSchema.safeParse(jsonOf(line));
  if (!parsed.success) {
    const what = `A line is not the blob that it begins as: ${z.prettifyError(parsed.error)}`;
    throw new TurnlogError("INVALID_INPUT", what, { cause: parsed.error });
  }
  const { blob: sha256, data } = parsed.data;
  const content = Buffer.from(data, "base64");
  const found = hash("sha256", content);
  if (found === sha256) return { sha256, content };
  throw new TurnlogError(
    "BLOB_DAMAGED",
    `The file has other bytes under the name of blob ${sha256}: their SHA-256 is ${found}. Nothing was imported.`,
    { details: { sha256, found } },
  );
}

// Refuses files and rows of a later format, which would else be reported as damaged.

const formatSchema = z.looseObject({ format: z.int().positive() });

/**
 * @param what - The name of the thing that was read, for the message.
 * @param known - The newest format that this release reads.
 * @throws TurnlogError `LOG_TOO_NEW`
 */
export function assertKnownFormat(
  what: string,
  value: unknown,
  known: number,
  { code = "LOG_TOO_NEW", ...options }: LaterFormatOptions = {},
): void {
  const format = formatSchema.safeParse(value, { jitless: true }).data?.format;
  if (format === undefined || format <= known) return;
  throw new TurnlogError(
    code,
    `${what} was written by a later release of turnlog: it has format ${format}, and this release reads up to format ${known}. Nothing was changed. Use the release that wrote it, or a later one.`,
    { ...options, details: { ...options.details, format } },
  );
}

interface LaterFormatOptions extends TurnlogErrorOptions {
  readonly code?: "LOG_TOO_NEW" | "EVENT_TOO_NEW";
}
