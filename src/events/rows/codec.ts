/**
 * Turns an event into a row and back: a checksum, then the JSON array `[type, version, time, data, id?]`.
 * A row that replaced another one ends with a 1, after `null` if there is no id. The row's key has the
 * session and the position.
 */

import { crc32 } from "node:zlib";
import { z } from "zod";
import {
  type NewEvent,
  type SessionEvent,
  eventSchemas,
  eventVersions,
  isKnownType,
  isPlainDeltaData,
} from "../catalogue/catalogue.ts";
import { TurnlogError } from "../values/errors.ts";
import { type AppEventType, isAppType } from "../catalogue/app-events.ts";
import { type JsonValue, jsonObjectSchema } from "../values/json.ts";
import { REPEATS_VERSION, withRepeats } from "./repeated-text.ts";
import { rememberUpcast, storedForm } from "./stored-form.ts";
import { isSucceededData } from "../catalogue/tool-events.ts";

/** The place of a row. The checksum covers it, so a row in the wrong place is found. */
export interface RowKey {
  readonly session: string;
  readonly position: number;
}

/**
 * Writes events as rows of JSON and reads them back. Older versions of an event are converted when they are read.
 * @example
 * const codec = createCodec();
 * const row = codec.encode(event, { session: "s-1", position: 1 });
 */
export interface Codec {
  encode(event: NewEvent, key: RowKey): string;
  /**
   * The event of a row, upcast to the current version.
   * @throws TurnlogError `LOG_DAMAGED` (checksum or form), `EVENT_INVALID` (data against its
   * schema), `EVENT_TOO_NEW` (written by a later release).
   */
  decode(row: string, key: RowKey): SessionEvent;
  /** The event of a row that this codec has just encoded: neither checksum nor schema is checked. */
  decodeOwn(row: string, key: RowKey): SessionEvent;
  /** The event of fields that were read from a row of another form. Throws as `decode`. */
  readonly eventOf: FieldsReader;
}

export type FieldsReader = (fields: StoredFields, key: RowKey) => SessionEvent;

export const CHECKSUM_LENGTH = 7;

export type StoredFields = readonly [
  type: string,
  version: number,
  time: number,
  data: JsonValue,
  id?: string | null,
  replaced?: 1,
];

/** Checked by hand for every event that is read: a schema would take half as long as all the rest. */
export function isStoredFields(value: unknown): value is StoredFields {
  if (!Array.isArray(value) || value.length < 4 || value.length > 6) return false;
  const fields: readonly unknown[] = value;
  const [type, version, time, , id, replaced] = fields;
  return (
    typeof type === "string" &&
    Number.isSafeInteger(version) &&
    Number(version) > 0 &&
    typeof time === "number" &&
    (value.length === 4 || typeof id === "string" || (id === null && value.length === 6)) &&
    (value.length < 6 || replaced === 1)
  );
}

/** Seven base-36 digits of a CRC-32, seeded with the row's place. */
export function checksum(json: string, { session, position }: RowKey): string {
  return seededChecksum(json, seedOf(session) + position);
}

export function seededChecksum(json: string, seed: number): string {
  return sevenDigits(crc32(json, seed >>> 0));
}

const PAIRS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, pair) =>
  pair.toString(36).padStart(2, "0"),
);

/** `toString(36)` of a number this large would take longer than the checksum itself. */
function sevenDigits(value: number): string {
  const upper = Math.floor(value / 36 ** 4);
  const lower = value - upper * 36 ** 4;
  const first = Math.floor(upper / 36 ** 2);
  const [, digit = ""] = PAIRS[first] ?? "";
  return `${digit}${PAIRS[upper - first * 36 ** 2]}${PAIRS[Math.floor(lower / 36 ** 2)]}${PAIRS[lower % 36 ** 2]}`;
}

/** Consecutive rows mostly belong to one session: its name is hashed once. */
const lastSeed = { session: "", seed: 0 };

function seedOf(session: string): number {
  if (session !== lastSeed.session) {
    lastSeed.session = session;
    lastSeed.seed = crc32(session);
  }
  return lastSeed.seed;
}

export function isIntact(row: string, key: RowKey): boolean {
  return row.slice(0, CHECKSUM_LENGTH) === checksum(row.slice(CHECKSUM_LENGTH), key);
}

/**
 * Turns events into rows and back. Old versions are read through `upcasters`.
 * @example
 * const codec = createCodec();
 * const key = { session: "s-1", position: event.position };
 * const same = codec.decode(codec.encode(event, key), key);
 */
export function createCodec(upcasters: Upcasters = ownUpcasters): Codec {
  const eventOf: FieldsReader = (fields, key) => checkedEvent(fields, key, upcasters);
  return {
    encode,
    decode: (row, key) => eventOf(storedFields(intactJson(row, key), key), key),
    decodeOwn: (row, key) => ownEvent(storedFields(ownJson(row), key), key, upcasters),
    eventOf,
  };
}

function encode(event: NewEvent, key: RowKey): string {
  const json = storedJson(event);
  return checksum(json, key) + json;
}

/** A row without its checksum. */
export function storedJson(event: NewEvent): string {
  const { type, version, data } = storedForm(event);
  return JSON.stringify(
    event.id === undefined
      ? [type, version, event.time, data]
      : [type, version, event.time, data, event.id],
  );
}

/** @throws TurnlogError `LOG_DAMAGED` */
export function intactJson(row: string, key: RowKey): unknown {
  if (!isIntact(row, key)) throw damaged(key, "its checksum does not match");
  return ownJson(row);
}

/** Parses the JSON of an intact row; undefined if the checksum was made over other text. */
export function ownJson(row: string): unknown {
  try {
    return JSON.parse(row.slice(CHECKSUM_LENGTH));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function checkedEvent(fields: StoredFields, key: RowKey, upcasters: Upcasters): SessionEvent {
  const { envelope, type, version, stored } = namedFields(fields, key);
  if (isAppType(type)) return appEvent(envelope, type, version, stored, key);
  if (!isKnownType(type)) return unknownEvent(envelope, type, version, stored);
  const isDelta = version === 1 && isPlainDeltaData(type, stored);
  const data = isDelta ? stored : upcast(type, version, stored, key, upcasters);
  // Data that a schema would take anyway.
  const isKnown = isDelta || (type === "tool.succeeded" && isSucceededData(data));
  if (!isKnown) {
    const schema: z.ZodType = eventSchemas[type];
    const checked = schema.safeParse(data);
    if (!checked.success) throw invalid(key, type, checked.error);
  }
  // Not the schema's output: live and replayed data must be equal to the byte, the order of keys included.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const event = { ...envelope, type, data } as SessionEvent;
  // A row of an earlier release may repeat texts; it is written again unchanged.
  if (version !== (eventVersions[type] ?? 1) || type === "tool.succeeded")
    rememberUpcast(event, { type, version, data: stored });
  return event;
}

function ownEvent(fields: StoredFields, key: RowKey, upcasters: Upcasters): SessionEvent {
  const { envelope, type, version, stored } = namedFields(fields, key);
  if (isAppType(type)) return appEvent(envelope, type, version, stored, key);
  if (!isKnownType(type)) return unknownEvent(envelope, type, version, stored);
  // An upcast event is written in its old version.
  if (version !== (eventVersions[type] ?? 1)) return checkedEvent(fields, key, upcasters);
  // It was encoded from a `SessionEvent` a moment ago.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...envelope, type, data: stored } as SessionEvent;
}

type Envelope = Pick<SessionEvent, "position" | "time" | "id">;

interface Fields {
  readonly envelope: Envelope;
  readonly type: string;
  readonly version: number;
  readonly stored: JsonValue;
}

/** @throws TurnlogError `LOG_DAMAGED` */
export function storedFields(fields: unknown, key: RowKey): StoredFields {
  if (!isStoredFields(fields)) throw damaged(key, "it is not an event row");
  return fields;
}

function namedFields([type, version, time, stored, id]: StoredFields, key: RowKey): Fields {
  const envelope =
    typeof id !== "string"
      ? { position: key.position, time }
      : { position: key.position, time, id };
  return { envelope, type, version, stored };
}

function unknownEvent(
  envelope: Envelope,
  type: string,
  version: number,
  data: JsonValue,
): SessionEvent<"unknown"> {
  return { ...envelope, type: "unknown", data: { type, version, data } };
}

/** The program's schema checks its data where the program reads it. */
function appEvent(
  envelope: Envelope,
  type: AppEventType,
  version: number,
  stored: JsonValue,
  key: RowKey,
): SessionEvent<AppEventType> {
  if (version > 1) throw tooNew(type, version, 1, key);
  const checked = jsonObjectSchema.safeParse(stored);
  if (!checked.success) throw invalid(key, type, checked.error);
  return { ...envelope, type, data: checked.data };
}

function upcast(
  type: keyof typeof eventSchemas,
  version: number,
  stored: JsonValue,
  key: RowKey,
  upcasters: Upcasters,
): JsonValue {
  const current = eventVersions[type] ?? 1;
  if (type === "tool.succeeded" && version === REPEATS_VERSION)
    return fitting(type, key, () => withRepeats(stored));
  if (version > current) throw tooNew(type, version, current, key);
  let data = stored;
  for (let from = version; from < current; from++) {
    const step = upcasters[type]?.[from];
    if (step === undefined)
      throw damaged(key, `${type} has no way from version ${from} to ${from + 1}`);
    const older = data;
    data = fitting(type, key, () => step(older));
  }
  return data;
}

function tooNew(type: string, version: number, current: number, key: RowKey): TurnlogError {
  return new TurnlogError(
    "EVENT_TOO_NEW",
    `The event at ${key.session}:${key.position} is ${type} version ${version}; this release of turnlog reads up to version ${current}. Open the store with the release that wrote it, or a later one.`,
    { session: key.session, position: key.position },
  );
}

/** @throws TurnlogError `EVENT_INVALID` where the data does not fit */
function fitting(type: string, key: RowKey, read: () => JsonValue): JsonValue {
  try {
    return read();
  } catch (error) {
    throw error instanceof z.ZodError ? invalid(key, type, error) : error;
  }
}

function invalid(key: RowKey, type: string, error: z.ZodError): TurnlogError {
  return new TurnlogError(
    "EVENT_INVALID",
    `The event at ${key.session}:${key.position} is of type ${type} and its data does not fit: ${z.prettifyError(error)}. Another program or a defect wrote it this way. The rest of the log can be read, from ${key.position + 1} on.`,
    { session: key.session, position: key.position, details: { type }, cause: error },
  );
}

export function damaged(key: RowKey, why: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The event at ${key.session}:${key.position} cannot be read: ${why}. Stop writing to this store, copy it, and run \`turnlog repair\`.`,
    { session: key.session, position: key.position },
  );
}

// Data of older schema versions is upcast when it is read. Stored events are never rewritten.

/** `upcasters[type][version]` takes data of that version and returns data of `version + 1`. */
export type Upcasters = Readonly<
  Record<string, Readonly<Record<number, (data: JsonValue) => JsonValue>>>
>;

const queuedV1 = z.looseObject({ text: z.string() });

const ownUpcasters: Upcasters = {
  // Earlier releases know no boundary at the end of a turn behind which messages wait, and would ignore it.
  "session.rewound": { 1: (data) => data },
  // Version 1 held bare text, before a message could have parts.
  "message.queued": {
    1: (data) => {
      const { text, ...rest } = queuedV1.parse(data);
      return jsonObjectSchema.parse({ ...rest, content: text });
    },
  },
};
