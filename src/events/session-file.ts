/**
 * A session as a file: a header line, then one event a line, all of them JSON. What the export writes
 * and the import reads; an event looks the same in both. Pure.
 */

import { z } from "zod";
import type { SessionEvent } from "./catalogue.ts";
import { createCodec, type RowKey } from "./codec.ts";
import { TurnlogError } from "./errors.ts";
import { jsonOf } from "./json-line.ts";
import { assertKnownFormat } from "./later-format.ts";
import { jsonSchema } from "./json.ts";
import { forkPointSchema, type ForkPoint } from "./session-events.ts";
import { storedForm } from "./stored-form.ts";

/** The first line. A file that has fewer events than it says was cut off. */
export interface SessionFileHeader {
  readonly session: string;
  readonly events: number;
  /** Where it branched off another one. The file has all of its events, also those that it shared. */
  readonly forkedFrom?: ForkPoint;
  /** Present where it is not the session itself, but a fixture made of it. */
  readonly fixture?: FixtureNote;
  /** Present where its blobs are in the file, each a line in front of the event that brings it along. */
  readonly blobs?: "inline";
}

/** What the header of a fixture says of it. */
export interface FixtureNote {
  /** The rules by which something was taken out, by name. */
  readonly redacted: readonly string[];
}

/** Raised when an older release could not read the file any more. */
const FORMAT = 2;
/** In which a file is written that has nothing new in it. */
const PLAIN_FORMAT = 1;

const headerSchema = z.object({
  turnlog: z.literal("session"),
  format: z.int().positive(),
  session: z.string(),
  events: z.int().positive(),
  fixture: z.looseObject({ redacted: z.array(z.string()) }).exactOptional(),
  forkedFrom: forkPointSchema.exactOptional(),
  blobs: z.literal("inline").exactOptional(),
});

const lineSchema = z.strictObject({
  seq: z.int().positive(),
  at: z.number(),
  type: z.string(),
  /** The version of the event's schema. */
  version: z.int().positive(),
  data: jsonSchema,
  id: z.string().exactOptional(),
});

const codec = createCodec();

/** The header as a line, without its end. */
export function headerLine(header: SessionFileHeader): string {
  const format = header.blobs === undefined ? PLAIN_FORMAT : FORMAT;
  return JSON.stringify({ turnlog: "session", format, ...header });
}

/** @throws TurnlogError `INVALID_INPUT`, `EVENT_TOO_NEW` */
export function parseHeaderLine(line: string): SessionFileHeader {
  const said = jsonOf(line);
  if (isSessionFile(said)) assertKnownFormat("The file", said, FORMAT, { code: "EVENT_TOO_NEW" });
  const header = headerSchema.safeParse(said);
  if (!header.success) {
    const what = "The first line is not the header of an exported session";
    throw new TurnlogError("INVALID_INPUT", `${what}: ${z.prettifyError(header.error)}`, {
      cause: header.error,
    });
  }
  const { format: _, turnlog: __, ...rest } = header.data;
  return rest;
}

function isSessionFile(said: unknown): boolean {
  return z.looseObject({ turnlog: z.literal("session") }).safeParse(said).success;
}

/** An event as a line, without its end: as it is stored, also where it was upcast or is unknown. */
export function eventLine(event: SessionEvent): string {
  const { seq, at, id } = event;
  const { type, version, data } = storedForm(event);
  return JSON.stringify({ seq, at, type, version, data, ...(id === undefined ? {} : { id }) });
}

/**
 * The event of a line, upcast to the current version.
 * @throws TurnlogError `INVALID_INPUT` (not an event, or not the one of this position),
 * `EVENT_INVALID`, `EVENT_TOO_NEW`
 */
export function parseEventLine(line: string, key: RowKey): SessionEvent {
  const parsed = lineSchema.safeParse(jsonOf(line));
  const place = { session: key.session, position: key.seq };
  if (!parsed.success) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `The line of event ${key.seq} is not an event: ${z.prettifyError(parsed.error)}`,
      { ...place, cause: parsed.error },
    );
  }
  const { seq, at, type, version, data, id } = parsed.data;
  if (seq !== key.seq) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Where event ${key.seq} is due, the file has event ${seq}: lines are missing or out of order.`,
      place,
    );
  }
  const fields = [type, version, at, data] as const;
  return codec.eventOf(id === undefined ? fields : [...fields, id], key);
}
